"""What the recorder says in the browser."""

from annotation_ui.words import Words


def recorder_words(t: Words) -> dict[str, str]:
    """All its texts in the reader's language; `{…}` is filled in the browser."""
    return _desk(t) | _level(t) | _problems(t)


def _desk(t: Words) -> dict[str, str]:
    return {
        "test": t("Test the microphone"),
        "microphone": t("Microphone"),
        "record": t("Record"),
        "stop": t("Stop"),
        "keys": t("Space or R starts and stops"),
        "recording": t("Recording"),
        "sending": t("Sending the take …"),
        "saved": t("Saved. The studio holds this take on disk."),
        "checksum": t("SHA-256"),
        "not_saved": t("Not saved yet. The take is still in this tab: do not close it."),
        "send_again": t("Send it again"),
        "throw_away": t("Throw it away"),
        "unreachable": t("The studio does not answer."),
        "longest": t("The longest take is reached, so the recording stopped."),
        "other_rate": t("This microphone gives {rate} kHz here, not 48. Try another browser or microphone."),
        "too_short": t("Nothing was recorded. Wait for the red dot, then speak."),
        "differs": t("The studio holds other bytes than were recorded. Send it again."),
    }


def _level(t: Words) -> dict[str, str]:
    return {
        "level": t("Level"),
        "room": t("Room"),
        "speak": t("Speak as you will read"),
        "too_quiet": t("Too quiet: come closer or turn it up"),
        "good": t("Good"),
        "clips": t("Too loud, it clips: turn it down or move away"),
        "still_room": t("quiet"),
        "fair_room": t("some noise"),
        "loud_room": t("noisy: close the window, switch off fans"),
        "measuring": t("stay silent for a moment …"),
        "silent_device": t("Nothing comes from this microphone. Is it muted, or another one in use?"),
    }


def _problems(t: Words) -> dict[str, str]:
    return {
        "denied": t("The browser does not let this page use the microphone."),
        "denied_how": t(
            "Click the lock or the microphone in the address bar, allow the microphone for this page, then press the "
            "button again. On a Mac or in Windows, also allow the browser itself in the privacy settings."
        ),
        "missing": t("There is no microphone."),
        "missing_how": t("Plug one in, or switch it on, then press the button again."),
        "busy": t("The microphone cannot be opened."),
        "busy_how": t("Close other programs that use it, such as a meeting, then press the button again."),
        "insecure": t("Browsers give the microphone only to secure pages."),
        "insecure_how": t(
            "This page was opened over plain http from another machine. Ask whoever runs the studio for an https "
            "address, or open it on that machine itself under localhost."
        ),
        "lost": t("The microphone is gone."),
        "lost_how": t("It was unplugged or switched off. What was said until then is being saved."),
    }
