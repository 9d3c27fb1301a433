"""The surest mistakes as small pictures, inside the page itself."""

from html import escape

from paceline.record.examined import Mistake
from paceline.report.wrong import Wrong


def pictures_html(wrong: Wrong | None) -> str:
    """Each with truth, answer and probability beneath it; empty where the examples are no pictures."""
    shown = [mistake for mistake in wrong.mistakes if mistake.png] if wrong else []
    if not wrong or not shown:
        return ""
    note = f"{wrong.setting}: the wrong answers on the test split that were given with the highest probability."
    body = "\n".join(_picture(wrong, mistake) for mistake in shown)
    return (
        f'<section id="mistake-pictures"><h2>Surest mistakes</h2><p class="note">{escape(note)}</p>\n'
        f'<div class="mistakes">\n{body}\n</div></section>'
    )


def _picture(wrong: Wrong, mistake: Mistake) -> str:
    truth, said = escape(wrong.names[mistake.truth]), escape(wrong.names[mistake.said])
    sure = f"{mistake.probability:.3f}"
    alt = f"Test example {mistake.index}: {truth}, taken for {said} with probability {sure}"
    return (
        f'<figure><img src="data:image/png;base64,{mistake.png}" alt="{alt}">'
        f"<figcaption><b>{truth}</b>said {said}, {sure}</figcaption></figure>"
    )
