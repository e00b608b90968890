"""What comes out beside text adds none to the visible answer."""

from citestream.events import Caution, Claim, Retract, Sentence, Text


def test_events_that_are_no_text_show_nothing() -> None:
    events: list[Text | Sentence | Retract | Caution | Claim] = [
        Text("So."),
        Sentence("So.", (1,), covered=True, start=0, end=3),
        Retract("retry", 1),
        Caution("uncited_sentence", "So."),
        Claim("So.", "supported"),
    ]
    assert [event.text for event in events] == ["So.", "", "", "", ""]
