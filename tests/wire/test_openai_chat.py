from __future__ import annotations

import json
from typing import Any

import pytest

from citestream import Passages, check_citations
from citestream.exceptions import UnfilterableResponseError
from tests.wire.bodies import PASSAGES, chat_chunk, chat_stream, cuts, done, filtered, payloads, sse

ANSWER = ["Five days", " [1", "]", " so [9].", " Ask ["]

# What the filter says of it, as every surface sends it.
SUMMARY = check_citations("".join(ANSWER), Passages(PASSAGES)).summary.to_dict()


def deltas(body: bytes, index: int = 0) -> list[Any]:
    """Return the content of every frame of a choice, `None` where a frame has none."""
    return [
        choice.get("delta", {}).get("content")
        for frame in payloads(body)
        for choice in frame["choices"]
        if choice["index"] == index
    ]


def content(body: bytes, index: int = 0) -> str:
    return "".join(text or "" for text in deltas(body, index))


def lines(body: bytes) -> list[bytes]:
    return [line + b"\n\n" for line in body.split(b"\n\n")[:-1]]


def test_w01_held_text_leaves_before_the_finish_frame_and_the_summary_in_it() -> None:
    result = filtered(chat_stream(*ANSWER))
    frames = payloads(result.body)
    assert deltas(result.body) == ["", "Five days", " [1]", " so.", " Ask", " [", None]
    assert [frame["choices"][0]["finish_reason"] for frame in frames] == [None] * 6 + ["stop"]
    assert ["citestream" in frame for frame in frames] == [False] * 6 + [True]
    assert frames[-1] == {
        **chat_chunk(None, "stop"),
        "choices": [
            {
                "index": 0,
                "delta": {
                    "annotations": [
                        {
                            "type": "url_citation",
                            "url_citation": {
                                "url": "https://docs.example/1",
                                "title": "Refunds",
                                "start_index": 10,
                                "end_index": 13,
                            },
                        }
                    ]
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "citestream": SUMMARY,
    }
    assert result.body.endswith(done())
    assert [summary.to_dict() for summary in result.summaries] == [SUMMARY]
    # The frame made for what was held looks like the stream's own.
    assert {k: v for k, v in frames[-2].items() if k != "choices"} == {
        k: v for k, v in frames[-1].items() if k not in ("choices", "citestream")
    }


def test_w01_content_inside_a_finish_frame_is_processed() -> None:
    body = sse(chat_chunk("See ["), chat_chunk("9] the end", "stop")) + done()
    assert deltas(filtered(body).body) == ["See", " the end"]
    body = sse(chat_chunk("See"), chat_chunk(" [1", "length")) + done()
    result = filtered(body)
    assert deltas(result.body) == ["See", ""]
    assert (result.summaries[0].removed, result.summaries[0].reason) == (1, "length")


def test_b02_a_chat_stream_cut_anywhere_leaves_the_same_bytes() -> None:
    body = b": ping\n\n" + chat_stream("Größe [1", "] a [9", "].")
    expected = filtered(body)
    for pieces in cuts(body):
        assert filtered(pieces) == expected


def test_b07_frames_nobody_had_to_change_leave_byte_for_byte() -> None:
    choice = b'{"index":0,"delta":{"content":"a\\u0062c\\/"},"x":1.10}'
    odd = b'data: { "choices" : [ %b ], "n":1e9 }\r\n\r\n' % choice
    body = odd + sse(chat_chunk("plain"), chat_chunk(" text"))
    assert filtered(body).body.startswith(body)


def test_w02_everything_that_is_no_text_passes_in_order_byte_for_byte() -> None:
    role = chat_chunk(None)
    role["choices"][0]["delta"] = {"role": "assistant", "content": None}
    usage = {**chat_chunk(None), "choices": [], "usage": {"total_tokens": 9}}
    prompt = {**chat_chunk(None), "choices": [], "prompt_filter_results": [{"index": 0}]}
    null = chat_chunk(None)
    null["choices"][0]["delta"] = {"content": None}
    missing = {"id": "chatcmpl-7", "object": "chat.completion.chunk"}
    frames = [prompt, role, chat_chunk(""), null, missing, chat_chunk("Hi"), chat_chunk("")]
    body = sse(*frames)
    result = filtered(body + sse(chat_chunk(None, "stop"), usage) + done())
    assert result.body.startswith(body)
    assert result.body.endswith(sse(usage) + done())
    assert len(payloads(result.body)) == len(frames) + 2


def test_w03_choices_have_a_parser_each_and_stay_apart() -> None:
    body = (
        sse(
            chat_chunk("a [", index=0),
            chat_chunk("b [", index=1),
            chat_chunk("9", index=0),
            chat_chunk("1", index=1),
            chat_chunk("].", index=1),
            chat_chunk("].", index=0),
            chat_chunk(None, "stop", index=1),
            chat_chunk(None, "length", index=0),
        )
        + done()
    )
    result = filtered(body)
    assert (content(result.body, 0), content(result.body, 1)) == ("a.", "b [1].")
    assert [(s.cited, s.invalid, s.reason) for s in result.summaries] == [
        ((1,), (), None),
        ((), (9,), "length"),
    ]
    finishes = [frame for frame in payloads(result.body) if "citestream" in frame]
    assert [
        (frame["choices"][0]["index"], frame["citestream"]["invalid"]) for frame in finishes
    ] == [(1, []), (0, [9])]


def test_w03_choices_of_one_frame_have_a_summary_each() -> None:
    chunk = chat_chunk("a [9].", "stop")
    chunk["choices"].append({"index": 1, "delta": {"content": "b [1]."}, "finish_reason": "stop"})
    (frame,) = payloads(filtered(sse(chunk)).body)
    assert "citestream" not in frame
    assert [
        (choice["delta"]["content"], choice["citestream"]["invalid"]) for choice in frame["choices"]
    ] == [("a.", [9]), ("b [1].", [])]


def test_w03_a_tool_call_in_between_lets_no_marker_form() -> None:
    call = chat_chunk(None)
    call["choices"][0]["delta"] = {
        "tool_calls": [{"index": 0, "function": {"arguments": '{"q": "[9]"}'}}]
    }
    body = sse(chat_chunk("a ["), call, chat_chunk("9] b"), chat_chunk(None, "tool_calls")) + done()
    result = filtered(body)
    # A client joins the two pieces, so they are one text here as well.
    assert content(result.body) == "a b"
    assert sse(call) in result.body
    assert result.summaries[0].invalid == (9,)


@pytest.mark.parametrize(
    "delta",
    [
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "[9]"}}]},
        {"function_call": {"name": "f", "arguments": "[9]"}},
        {"reasoning_content": "as [9] says"},
        {"reasoning": "as [9] says"},
        {"refusal": "no [9]"},
        {"audio": {"transcript": "[9]", "data": "AA=="}},
        {"role": "assistant", "content": None, "x": 1.50},
    ],
)
def test_w04_what_is_no_answer_passes_byte_for_byte_and_is_not_counted(
    delta: dict[str, Any],
) -> None:
    chunk = chat_chunk(None)
    chunk["choices"][0]["delta"] = delta
    result = filtered(sse(chat_chunk("Hi"), chunk, chat_chunk(None, "stop")) + done())
    assert sse(chunk) in result.body
    assert result.summaries[0].invalid == ()


def with_logprobs(text: str) -> dict[str, Any]:
    chunk = chat_chunk(text, obfuscation="x" * 7)
    token = {"token": text, "bytes": list(text.encode()), "logprob": -0.1, "top_logprobs": []}
    chunk["choices"][0]["logprobs"] = {"content": [token], "refusal": None}
    return chunk


def test_w04_log_probabilities_and_padding_do_not_betray_a_removed_marker() -> None:
    kept, marker, after = with_logprobs("Five"), with_logprobs(" so [9]"), with_logprobs(".")
    result = filtered(sse(kept, marker, after, chat_chunk(None, "stop")) + done())
    first, second, third, *_ = lines(result.body)
    assert (first, third) == (sse(kept), sse(after))
    assert json.loads(second[6:]) == {
        **{key: value for key, value in marker.items() if key != "obfuscation"},
        "choices": [
            {
                "index": 0,
                "delta": {"content": " so"},
                "logprobs": {"content": None, "refusal": None},
                "finish_reason": None,
            }
        ],
    }
    assert b"[9]" not in result.body.replace(b'"invalid":[9]', b"")
    assert b"91, 57, 93" not in result.body


def test_w04_padding_that_differs_in_every_frame_is_read_past_and_goes_with_changed_text() -> None:
    texts = ["Five", " days", ' "so\\', " [1", "]", " [9", "]", ".", "\u2028é\n"]
    chunks = [chat_chunk(text, obfuscation="aZ9x"[: 1 + i % 4]) for i, text in enumerate(texts)]
    result = filtered(sse(*chunks, chat_chunk(None, "stop")) + done())
    frames = payloads(result.body)
    assert content(result.body) == 'Five days "so\\ [1].\u2028é\n'
    assert [
        (frame["choices"][0]["delta"].get("content"), "obfuscation" in frame) for frame in frames
    ] == [
        ("Five", True),
        (" days", True),
        (' "so\\', True),
        (" [1]", False),
        (".", True),
        ("\u2028é\n", True),
        (None, False),
    ]
    unchanged = [chunk for chunk in chunks if sse(chunk) in result.body]
    assert [chunk["choices"][0]["delta"]["content"] for chunk in unchanged] == [
        "Five", " days", ' "so\\', ".", "\u2028é\n",
    ]  # fmt: skip


def test_w05_streamed_and_whole_answers_agree() -> None:
    answer = "Five days [1, 9]. **[8]** See [2] [3] and [source 1]."
    whole = {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"total_tokens": 1.0},
    }
    (body,) = [filtered(json.dumps(whole).encode(), "application/json")]
    stream = filtered(chat_stream(*answer))
    value = json.loads(body.body)
    message = value["choices"][0]["message"]
    last = payloads(stream.body)[-1]
    assert content(stream.body) == message["content"]
    assert last["citestream"] == value["citestream"]
    assert last["choices"][0]["delta"]["annotations"] == message["annotations"]
    assert [
        message["content"][note["url_citation"]["start_index"] : note["url_citation"]["end_index"]]
        for note in message["annotations"]
    ] == ["[1]", "[3]", "[1]"]
    assert body.summaries == stream.summaries
    # What nobody had to change is as it was.
    assert b'"usage": {"total_tokens": 1.0}' in body.body


def test_whole_choices_have_a_summary_each_and_lose_log_probabilities_that_betray() -> None:
    chances = {"content": [{"token": "[9]"}], "refusal": None}
    whole = {
        "choices": [
            {"index": 0, "message": {"content": "a [9]."}, "logprobs": chances},
            {"index": 1, "message": {"content": "b [1]."}, "logprobs": chances},
            {"index": 2, "message": {"content": None, "tool_calls": [{"x": "[9]"}]}},
        ]
    }
    result = filtered(json.dumps(whole).encode(), "application/json")
    first, second, third = json.loads(result.body)["choices"]
    assert (first["message"]["content"], first["logprobs"]["content"]) == ("a.", None)
    assert (second["message"]["content"], second["logprobs"]) == ("b [1].", chances)
    assert third["message"] == {"content": None, "tool_calls": [{"x": "[9]"}]}
    assert [choice["citestream"]["invalid"] for choice in (first, second, third)] == [[9], [], []]
    assert len(result.summaries) == 3


def test_text_parts_of_a_message_are_one_answer() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "[9]"}]},
        {"type": "text", "text": "a ["},
        {"type": "text", "text": "9]."},
    ]
    whole = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    result = filtered(json.dumps(whole).encode(), "application/json")
    value = json.loads(result.body)
    assert value["choices"][0]["message"]["content"] == [
        parts[0],
        {"type": "text", "text": "a"},
        {"type": "text", "text": "."},
    ]
    stream = sse({"choices": [{"delta": {"content": parts}, "finish_reason": "stop"}]})
    (frame,) = payloads(filtered(stream).body)
    assert frame["choices"][0]["delta"]["content"] == value["choices"][0]["message"]["content"]


def test_w08_what_a_server_leaves_out_is_not_needed() -> None:
    body = sse(
        {"choices": [{"delta": {"content": "a [9"}}]},
        {"choices": [{"delta": {"content": "]."}}]},
        {"choices": [{"finish_reason": "stop"}]},
    )
    result = filtered(body)
    assert [frame["choices"][0].get("delta") for frame in payloads(result.body)] == [
        {"content": "a"},
        {"content": "."},
        None,
    ]
    assert payloads(result.body)[-1]["citestream"]["invalid"] == [9]


@pytest.mark.parametrize(
    "mark", ["data:[DONE]", "data: [DONE] ", "data: [DONE]\r", "data:  [DONE]"]
)
def test_b06_the_end_mark_in_every_spelling_is_terminal_and_held_text_goes_before_it(
    mark: str,
) -> None:
    end = mark.encode() + b"\n\n"
    result = filtered(sse(chat_chunk("a"), chat_chunk(" [")) + end + end)
    assert result.body.endswith(end + end)
    (last,) = [frame for frame in payloads(result.body) if "citestream" in frame]
    assert content(result.body) == "a ["
    assert last["choices"][0]["finish_reason"] is None
    assert len(result.summaries) == 1


def test_b06_a_missing_finish_and_a_missing_end_mark_still_flush() -> None:
    for tail in (b"", b"data: [DONE]"):
        result = filtered(sse(chat_chunk("a [1]"), chat_chunk(" [2")) + tail)
        last = payloads(result.body)[-1]
        assert content(result.body) == "a [1]"
        assert last["citestream"]["cited"] == [1]
        assert last["choices"][0]["delta"]["annotations"][0]["url_citation"]["start_index"] == 2


def test_usage_is_the_last_word_of_a_stream_without_a_finish_frame() -> None:
    usage = sse({**chat_chunk(None), "choices": [], "usage": {"total_tokens": 9}})
    result = filtered(sse(chat_chunk("a"), chat_chunk(" [")) + usage + done())
    assert content(result.body) == "a ["
    # A frame after the usage would make the official client forget it.
    assert result.body.endswith(usage + done())


def test_an_error_frame_of_the_server_comes_after_what_was_held() -> None:
    error = b'data: {"error": {"message": "overloaded"}}\n\n'
    result = filtered(sse(chat_chunk("a [1]"), chat_chunk(" [")) + error)
    assert result.body.endswith(error)
    assert content(result.body.removesuffix(error)) == "a [1] ["
    (summary,) = result.summaries
    assert (summary.ended, summary.reason, summary.cited) == ("error", "source failed", (1,))


def test_legacy_completions_are_read_streamed_and_whole() -> None:
    def chunk(text: str, finish: str | None = None, chances: Any = None) -> dict[str, Any]:
        choice = {"text": text, "index": 0, "logprobs": chances, "finish_reason": finish}
        return {"id": "cmpl-1", "object": "text_completion", "choices": [choice]}

    def chances(text: str, offset: int) -> dict[str, Any]:
        return {"tokens": [text], "text_offset": [offset], "token_logprobs": [-1.0]}

    texts = ["Five", " [9]", " days [1"]
    chunks = [chunk(text, None, chances(text, 4 * at)) for at, text in enumerate(texts)]
    result = filtered(sse(*chunks, chunk("]", "stop")) + done())
    frames = payloads(result.body)
    assert "".join(frame["choices"][0]["text"] for frame in frames) == "Five days [1]"
    # Offsets behind a removed marker would point elsewhere.
    assert [frame["choices"][0]["logprobs"] for frame in frames] == [
        chances("Five", 0), None, None,
    ]  # fmt: skip
    assert frames[-1]["citestream"]["cited"] == [1]
    assert "annotations" not in json.dumps(frames)
    whole = filtered(json.dumps(chunk("Five [9] days [1]", "stop")).encode(), "application/json")
    assert json.loads(whole.body)["choices"][0]["text"] == "Five days [1]"
    assert whole.summaries == result.summaries


def test_llama_cpp_completions_are_read_streamed_and_whole() -> None:
    def chunk(text: str, **members: Any) -> dict[str, Any]:
        return {"index": 0, "content": text, "tokens": [57], "stop": False, **members}

    last = chunk("", stop=True, stop_type="eos", prompt="see [9]")
    result = filtered(sse(chunk("Five"), chunk(" [9]"), chunk(" days ["), last))
    frames = payloads(result.body)
    assert [(frame["content"], frame.get("tokens")) for frame in frames] == [
        ("Five", [57]),
        ("", []),
        (" days", []),
        (" [", None),
        ("", [57]),
    ]
    assert [frame["stop"] for frame in frames] == [False] * 4 + [True]
    assert frames[-1]["citestream"]["invalid"] == [9]
    assert frames[-1]["prompt"] == "see [9]"
    whole = filtered(json.dumps(chunk("Five [9].", stop=True)).encode(), "application/json")
    assert json.loads(whole.body)["content"] == "Five."


def test_annotations_of_the_server_leave_once_with_ours_and_never_point_into_changed_text() -> None:
    def note(**members: Any) -> dict[str, Any]:
        return {"type": "url_citation", "url_citation": {"url": "https://web.example/", **members}}

    def stream(text: str) -> bytes:
        chunk = chat_chunk(text)
        chunk["choices"][0]["delta"]["annotations"] = [note(), note(start_index=0, end_index=4)]
        finish = chat_chunk(None, "stop")
        finish["choices"][0]["delta"] = {"annotations": [note(start_index=1)]}
        return sse(chunk, finish) + done()

    for text, kept in (("Five [1].", 3), ("Five [9] [1].", 1)):
        frames = payloads(filtered(stream(text)).body)
        first, last = (frame["choices"][0]["delta"] for frame in frames)
        assert "annotations" not in first
        assert len(last["annotations"]) == kept + 1
        assert last["annotations"][-1]["url_citation"]["url"] == "https://docs.example/1"
        whole = {"choices": [{"message": {"content": text, "annotations": [note(start_index=0)]}}]}
        body = filtered(json.dumps(whole).encode(), "application/json").body
        notes = json.loads(body)["choices"][0]["message"]["annotations"]
        assert len(notes) == (2 if kept == 3 else 1)


def test_w04_structured_output_stays_the_same_document() -> None:
    answer = '{"answer": "Five days [1] plus [9] so.", "sources": [1, 9]}'
    expected = '{"answer": "Five days [1] plus so.", "sources": [1, 9]}'
    for pieces in ([answer], list(answer), [answer[:20], answer[20:40], answer[40:]]):
        result = filtered(chat_stream(*pieces), text="json")
        assert content(result.body) == expected
        (note,) = payloads(result.body)[-1]["choices"][0]["delta"]["annotations"]
        place = note["url_citation"]
        assert expected[place["start_index"] : place["end_index"]] == "[1]"
    whole = {"choices": [{"message": {"content": answer}}]}
    body = filtered(json.dumps(whole).encode(), "application/json", text="json").body
    assert json.loads(body)["choices"][0]["message"]["content"] == expected


def test_text_after_the_finish_frame_is_checked_as_another_answer() -> None:
    body = sse(chat_chunk("a", "stop"), chat_chunk("b [9]."), chat_chunk(None)) + done()
    result = filtered(body)
    assert content(result.body) == "ab."
    assert [summary.invalid for summary in result.summaries] == [(), (9,)]


@pytest.mark.parametrize(
    "value",
    [
        {"choices": "x"},
        {"choices": ["x"]},
        {"choices": [{"index": "0", "delta": {"content": "x"}}]},
        {"choices": [{"index": True, "delta": {"content": "x"}}]},
        {"choices": [{"delta": "x"}]},
        {"choices": [{"delta": {"content": 1}}]},
        {"choices": [{"delta": {"content": ["x"]}}]},
        {"choices": [{"text": ["[9]"]}]},
        {"choices": [{"message": {"content": "[9]"}}]},
        ["x"],
    ],
)
def test_a_frame_of_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(UnfilterableResponseError, match="in the OpenAI chat format"):
        filtered(sse(chat_chunk("Hi"), value))


def test_an_event_that_is_no_json_is_refused() -> None:
    with pytest.raises(UnfilterableResponseError) as caught:
        filtered(sse(chat_chunk("Hi")) + b"data: secret [9]\n\n")
    assert str(caught.value) == (
        "expected JSON in every event, got something else: name the format with format="
    )


def test_more_choices_than_the_provider_allows_are_refused() -> None:
    with pytest.raises(UnfilterableResponseError, match="at most 128 choices"):
        filtered(sse(*[chat_chunk("x", index=index) for index in range(129)]))


def test_nothing_that_breaks_a_client_is_ever_added() -> None:
    result = filtered(chat_stream("a [1] [9].", " ["))
    assert {line.split(b":")[0] for line in result.body.split(b"\n") if line} == {b"data"}
    assert all("choices" in frame for frame in payloads(result.body))


def test_an_empty_stream_has_one_summary() -> None:
    for body in (b"", done(), b": ping\n\n"):
        result = filtered(body, format_="openai-chat")
        assert result.body == body
        assert [summary.ended for summary in result.summaries] == ["complete"]
