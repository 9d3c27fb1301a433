"""The table of built-in parts: name, dotted path, arguments with type, default and range. No torch here.

A new optimizer, model, data set, loss or schedule is its own file and one line in this table.
"""

from paceline.spec.argument import Arg, Entry, drawing, flag, integer, number, share, word

_momentum = number(0.9, low=0)
_epsilon = number(1e-8, low=0)
_penalty = number(0.0, low=0)
_accumulator = number(0.1, low=0)
_positive = number(0.1, low=0, above=True)
_smoothing = number(0.0, low=0, high=1)
_beta = {"beta1": share(0.9), "beta2": share(0.999), "epsilon": _epsilon}
_share = number(0.0, low=0, high=1)
_validation = integer(5000, low=0, high=50_000)
_size = integer(96, low=8, high=1024)
_split_seed = drawing()
_SMOOTHING = ("label_smoothing",)
_stem = word("imagenet", "small")
_half = {"stem": _stem, "dropout": share(0.5)}

TABLE: dict[str, dict[str, Entry]] = {
    "data": {
        "line": Entry("paceline.data.sources.line:line", task="values", about="four points on a line"),
        "digits": Entry(
            "paceline.data.sources.digits:digits",
            {"validation": integer(300, low=0, high=1000), "test": integer(360, low=1, high=1000)},
            task="classes",
            about="1,797 digits of 8 x 8, inside scikit-learn",
        ),
        "mnist": Entry(
            "paceline.data.sources.idx:mnist",
            {"validation": _validation},
            task="classes",
            about="28 x 28 digits",
        ),
        "fashion_mnist": Entry(
            "paceline.data.sources.idx:fashion_mnist",
            {"validation": _validation},
            task="classes",
            about="28 x 28 clothes",
        ),
        "synthetic": Entry(
            "paceline.data.sources.synthetic:synthetic",
            {
                "examples": integer(2000, low=1),
                "validation": integer(500, low=0),
                "test": integer(500, low=1),
                "shape": Arg("integers", (20,), low=1),
                "classes": integer(10, low=2),
                "noise": number(1.0, low=0),
                "seed": drawing(),
            },
            task="classes",
            about="Gaussian clusters",
        ),
        "cifar10": Entry(
            "paceline.data.sources.cifar:cifar10",
            {"validation": integer(5000, low=0, high=49_999)},
            task="classes",
            about="32 x 32 in colour",
        ),
        "cifar100": Entry(
            "paceline.data.sources.cifar:cifar100",
            {"validation": integer(5000, low=0, high=49_999), "labels": word("fine", "coarse")},
            task="classes",
            about="32 x 32 in colour, 100 classes or 20",
        ),
        "folder": Entry(
            "paceline.data.sources.folder:folder",
            {
                "path": Arg("text"),
                "size": _size,
                "test": share(0.2, above=True),
                "validation": share(0.1),
                "split_seed": _split_seed,
            },
            task="classes",
            about="your own images, a sub-folder a class; short: `folder:PATH`, which begins beside the study file",
        ),
        "fruits": Entry(
            "paceline.data.sources.fruits:fruits",
            {
                "size": _size,
                "validation": share(0.1),
                "copies": integer(0, low=0, high=8),
                "split": word("folders", "photos", "copies"),
                "test": share(0.2, above=True),
                "split_seed": _split_seed,
            },
            task="classes",
            about="photos of fresh and rotten fruits",
        ),
        "caltech101": Entry(
            "paceline.data.sources.caltech:caltech101",
            {
                "size": _size,
                "validation": share(0.1),
                "split": word("course", "random"),
                "test": share(0.2, above=True),
                "split_seed": _split_seed,
            },
            task="classes",
            about="photos of objects",
        ),
        "caltech256": Entry(
            "paceline.data.sources.caltech:caltech256",
            {"size": _size, "test": share(0.2, above=True), "validation": share(0.1), "split_seed": _split_seed},
            task="classes",
            about="photos of objects, and clutter",
        ),
    },
    "model": {
        "line": Entry(
            "paceline.models.line:Line", {"W": number(0.3), "b": number(-0.3)}, about="y = W x + b", stacks=("W", "b")
        ),
        "softmax": Entry(
            "paceline.models.softmax:Softmax",
            {"init": word("zeros", "normal", "torch")},
            about="one layer",
            stacks=("init",),
        ),
        "mlp": Entry(
            "paceline.models.mlp:MLP",
            {
                "widths": Arg("integers", (128,), low=1),
                "activation": word("relu", "tanh", "gelu"),
                "dropout": _share,
                "init": word("kaiming", "torch", "truncated_normal"),
            },
            about="fully connected",
            stacks=("dropout", "init"),
        ),
        "lab_cnn": Entry(
            "paceline.models.lab_cnn:LabCNN",
            {"dropout": number(0.5, low=0, high=1), "init": word("truncated_normal", "kaiming", "torch")},
            about="5x5x32, pool, 5x5x64, pool, 1024",
            stacks=("dropout", "init"),
        ),
        "alexnet": Entry(
            "paceline.models.alexnet:AlexNet", _half, about="5 convolutions and 3 dense layers", features=4096
        ),
        "vgg16_bn": Entry(
            "paceline.models.vgg:VGG16BN", _half, about="VGG of 16 layers, normalised by batch", features=4096
        ),
        "vgg19": Entry("paceline.models.vgg:VGG19", _half, about="VGG of 19 layers", features=4096),
        "vgg19_bn": Entry(
            "paceline.models.vgg:VGG19BN", _half, about="VGG of 19 layers, normalised by batch", features=4096
        ),
        "resnet18": Entry(
            "paceline.models.resnet:ResNet18", {"stem": _stem}, about="residual, 18 layers", features=512
        ),
        "resnet50": Entry(
            "paceline.models.resnet:ResNet50", {"stem": _stem}, about="residual, 50 layers", features=2048
        ),
        "squeezenet1_0": Entry(
            "paceline.models.squeezenet:SqueezeNet10", _half, about="fire modules, 1.2 million parameters", features=512
        ),
        "squeezenet1_1": Entry(
            "paceline.models.squeezenet:SqueezeNet11", _half, about="fire modules, pooled earlier", features=512
        ),
        "densenet121": Entry(
            "paceline.models.densenet:DenseNet121",
            {"stem": _stem, "dropout": share(0.0)},
            about="densely connected, 121 layers",
            features=1024,
        ),
        "mobilenet_v2": Entry(
            "paceline.models.mobilenet:MobileNetV2",
            {"stem": _stem, "dropout": share(0.2)},
            about="inverted residuals, convolved channel by channel",
            features=1280,
        ),
    },
    "loss": {
        "softmax_ce": Entry(
            "paceline.train.losses:softmax_ce",
            {"label_smoothing": _smoothing},
            task="classes",
            stacks=_SMOOTHING,
            about="cross-entropy of the softmax, each example one class",
        ),
        "sparse_softmax_ce": Entry(
            "paceline.train.losses:sparse_softmax_ce",
            {"label_smoothing": _smoothing},
            task="classes",
            stacks=_SMOOTHING,
            about="the same number as softmax_ce; both names are TensorFlow's",
        ),
        "weighted_ce": Entry(
            "paceline.train.losses:weighted_ce",
            {"pos_weight": number(1.0, low=0, above=True), "label_smoothing": _smoothing},
            task="classes",
            stacks=("pos_weight", *_SMOOTHING),
            about="sigmoid_ce with the positive term weighed: above 1 favours recall, below 1 precision",
        ),
        "sigmoid_ce": Entry(
            "paceline.train.losses:sigmoid_ce",
            {"label_smoothing": _smoothing},
            task="classes",
            stacks=_SMOOTHING,
            about="binary cross-entropy, each class on its own",
        ),
        "sigmoid_focal_ce": Entry(
            "paceline.train.losses:sigmoid_focal_ce",
            {
                "alpha": number(0.25, low=0, high=1),
                "gamma": number(2.0, low=0),
                "from_logits": flag(False),
                "label_smoothing": _smoothing,
            },
            task="classes",
            stacks=("alpha", "gamma", *_SMOOTHING),
            about="focal loss (Lin et al. 2017); built-in models give logits, so say `from_logits: true`",
        ),
        "weighted_kappa": Entry(
            "paceline.train.losses:weighted_kappa",
            {
                "weightage": word("quadratic", "linear"),
                "epsilon": number(1e-6, low=0),
                "label_smoothing": _smoothing,
            },
            task="classes",
            stacks=("epsilon", *_SMOOTHING),
            about="logarithm of 1 less Cohen's weighted kappa over the batch, for ordered classes",
        ),
        "mse": Entry(
            "paceline.train.losses:mse",
            {"label_smoothing": _smoothing},
            stacks=_SMOOTHING,
            about="mean of squared errors; classes as one-hot rows",
        ),
        "sum_squares": Entry(
            "paceline.train.losses:sum_squares",
            {"label_smoothing": _smoothing},
            stacks=_SMOOTHING,
            about="sum of squared errors; classes as one-hot rows",
        ),
    },
    "optimizer": {
        "gd": Entry(
            "paceline.optim.gd:gd",
            about="gradient descent, TensorFlow 1's",
        ),
        "momentum": Entry(
            "paceline.optim.momentum:momentum",
            {"momentum": _momentum},
            about="heavy ball, TensorFlow 1's",
        ),
        "nesterov": Entry(
            "paceline.optim.nesterov:nesterov",
            {"momentum": _momentum},
            about="Nesterov's momentum, TensorFlow 1's",
        ),
        "adam": Entry(
            "paceline.optim.adam:adam",
            _beta,
            about="TensorFlow 1's, epsilon outside the bias correction; torch's is `torch.optim:Adam`",
        ),
        "rmsprop": Entry(
            "paceline.optim.rmsprop:rmsprop",
            {
                "decay": number(0.9, low=0, high=1),
                "momentum": number(0.0, low=0),
                "epsilon": number(1e-10, low=0),
                "centered": flag(False),
            },
            about="TensorFlow 1's, epsilon under the root, the average begins at 1; torch's is `torch.optim:RMSprop`",
        ),
        "adagrad": Entry(
            "paceline.optim.adagrad:adagrad",
            {"initial_accumulator_value": _positive},
            about="TensorFlow 1's, no epsilon; torch's is `torch.optim:Adagrad`",
        ),
        "adadelta": Entry(
            "paceline.optim.adadelta:adadelta",
            {"rho": number(0.95, low=0, high=1), "epsilon": _epsilon},
            about="TensorFlow 1's",
        ),
        "ftrl": Entry(
            "paceline.optim.ftrl:ftrl",
            {
                "lr_power": number(-0.5, high=0),
                "initial_accumulator_value": _accumulator,
                "l1": _penalty,
                "l2": _penalty,
                "l2_shrinkage": _penalty,
            },
            about="FTRL-Proximal, TensorFlow 1's",
        ),
        "proximal_gd": Entry(
            "paceline.optim.proximal_gd:proximal_gd",
            {"l1": _penalty, "l2": _penalty},
            about="gradient descent with l1 and l2 penalties, TensorFlow 1's",
        ),
        "proximal_adagrad": Entry(
            "paceline.optim.proximal_adagrad:proximal_adagrad",
            {"initial_accumulator_value": _positive, "l1": _penalty, "l2": _penalty},
            about="Adagrad with l1 and l2 penalties, TensorFlow 1's",
        ),
        "sgd": Entry(
            "paceline.optim.sgd:sgd",
            {
                "momentum": number(0.0, low=0),
                "dampening": number(0.0, low=0),
                "weight_decay": _penalty,
                "nesterov": flag(False),
            },
            about="torch's SGD",
        ),
        "adamw": Entry(
            "paceline.optim.adamw:adamw",
            {**_beta, "weight_decay": number(0.01, low=0)},
            about="torch's AdamW: Adam with decoupled weight decay",
        ),
        "lion": Entry(
            "paceline.optim.lion:lion",
            {
                "beta1": share(0.9),
                "beta2": share(0.99),
                "weight_decay": _penalty,
            },
            about="sign of an interpolated momentum (Chen et al. 2023)",
        ),
        "muon": Entry(
            "paceline.optim.muon:muon",
            {
                "momentum": share(0.95),
                "nesterov": flag(True),
                "ns_steps": integer(5, low=1, high=20),
                "weight_decay": _penalty,
                "beta1": share(0.9),
                "beta2": share(0.95),
                "epsilon": _epsilon,
            },
            about="matrices by orthogonalised momentum, all else by AdamW (Jordan et al. 2024)",
        ),
        "schedule_free": Entry(
            "paceline.optim.schedule_free:schedule_free",
            {**_beta, "beta1": share(0.9, above=True), "weight_decay": _penalty},
            about="AdamW that needs no schedule (Defazio et al. 2024)",
        ),
    },
    "schedule": {
        "constant": Entry(
            "paceline.optim.schedules:constant",
            about="lr stays",
        ),
        "exponential": Entry(
            "paceline.optim.schedules:exponential",
            {"rate": number(low=0, above=True), "every": integer(low=1), "staircase": flag(False)},
            about="lr times `rate` for every `every` updates, smoothly or as a staircase",
        ),
        "step": Entry(
            "paceline.optim.schedules:step_decay",
            {"at": Arg("integers", low=0), "rate": number(0.1, low=0, above=True)},
            about="lr times `rate` from each of the updates listed in `at` on",
        ),
        "cosine": Entry(
            "paceline.optim.schedules:cosine",
            {"final": _share},
            about="half a cosine from lr down to `final` times lr at the end",
        ),
        "linear": Entry(
            "paceline.optim.schedules:linear",
            {"final": _share},
            about="a straight line from lr down to `final` times lr at the end",
        ),
        "one_cycle": Entry(
            "paceline.optim.schedules:one_cycle",
            {
                "peak_at": number(0.3, low=0, high=1),
                "start": number(0.04, low=0, high=1),
                "final": number(4e-6, low=0, high=1),
            },
            about="up from `start` times lr to lr at the share `peak_at` of the updates, then down to `final` times lr",
        ),
    },
    "strategy": {
        "ddp": Entry(
            "paceline.train.parallel.ddp:DDP",
            {
                "bucket_mb": number(25.0, low=0, above=True),
                "compress": word("none", "fp16", "bf16", "powersgd"),
                "rank": integer(2, low=1),
            },
            about="the whole model on every device, gradients averaged as they arise",
            averages=True,
            waits=True,
        ),
        "zero": Entry(
            "paceline.train.parallel.zero:Zero",
            {"bucket_mb": number(25.0, low=0, above=True)},
            about="as ddp, the optimizer's state divided",
            averages=True,
            waits=True,
        ),
        "fsdp": Entry("paceline.train.parallel.fsdp:FSDP", about="parameters, gradients and state divided"),
        "local_sgd": Entry(
            "paceline.train.parallel.local_sgd:LocalSGD",
            {"every": integer(8, low=1)},
            about="each by itself, parameters averaged every so many updates",
            waits=True,
        ),
        "pipeline": Entry(
            "paceline.train.parallel.pipeline:Pipeline",
            {"micro_batches": integer(4, low=1)},
            about="each has some of the layers",
        ),
        "tensor": Entry("paceline.train.parallel.tensor:TensorParallel", about="each has a part of the dense layers"),
    },
}
