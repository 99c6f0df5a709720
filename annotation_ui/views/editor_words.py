"""What the question editor says. Braces are filled in the browser."""

from annotation_ui import labels
from annotation_ui.words import N_, Words

TEXTS = {
    # Saving
    "saved": N_("Saved at {time}"),
    "saving": N_("Saving …"),
    "offline": N_("Not saved: no connection; kept in this browser, trying again"),
    "offline_unkept": N_("Not saved: no connection. Leave this page open; trying again"),
    "choose_version": N_("Not saved yet: choose a version above"),
    "sign_in": N_("Sign in"),
    "close": N_("Close"),
    # Sections
    "section_task": N_("Task"),
    "section_question": N_("Question"),
    "section_answer": N_("The right answer"),
    "section_senses": N_("What each modality contributes"),
    "section_name": N_("Name of the item"),
    # Task
    "task_type": N_("Task type"),
    "task_type_search": N_("Type to search: name, ability, what it asks for"),
    "task_type_hint": N_("What is asked for. Its definition and an example will stand here."),
    "task_type_none": N_("No task type fits these words."),
    "example": N_("Example:"),
    "language": N_("Language of the question"),
    "choose": N_("Choose …"),
    "kind": N_("How it is answered"),
    # Question
    "prompt": N_("The question, with its media where they belong"),
    "prompt_hint": N_("Write the question. Choose a material to place it where the caret stands, as in <image_1>."),
    "media": N_("Media of the question"),
    "media_hint": N_(
        "No media yet. Choose one under “Materials”: it is placed where the caret stands in the question."
    ),
    "choose_media": N_("Choose materials"),
    "material_gone": N_("This material is not in the library any more."),
    "insert_here": N_("Put into the text"),
    "swap": N_("Swap"),
    "swap_hint": N_("Choose the material that is to stand in the place of <{place}>."),
    "cancel": N_("Cancel"),
    "remove": N_("Remove"),
    "asked_in": N_("The question itself is asked in"),
    # Choices
    "choices_hint": N_(
        "Mark the right one. Enter goes to the next, Alt+↑ and Alt+↓ move a choice, and lines that are pasted become "
        "choices."
    ),
    "add_choice": N_("Add a choice"),
    "several_right": N_("More than one is right"),
    "mark_right": N_("Mark as right"),
    "choice": N_("Choice {label}"),
    "choice_is_right": N_("Choice {label} is right"),
    "remove_choice": N_("Remove choice {label}"),
    "move_up": N_("Move {label} up (Alt+↑)"),
    "move_down": N_("Move {label} down (Alt+↓)"),
    # Accepted answers
    "answer": N_("The right answer"),
    "answer_hint": N_("As a reader would write it"),
    "also_accepted": N_("Also accepted, {number}"),
    "also_accepted_hint": N_("Another way to say it"),
    "add_accepted": N_("Accept another wording"),
    "remove_answer": N_("Remove this wording ({number})"),
    "graded_as": N_("Compared as"),
    "tolerance": N_("Tolerance ±"),
    # Steps
    "steps_hint": N_("Each step builds on those before it. Points are whole numbers; those of all steps sum to 10."),
    "add_step": N_("Add a step"),
    "remove_step": N_("Remove step {number}"),
    "step": N_("Step {number}"),
    "step_asks": N_("What step {number} asks"),
    "points": N_("Worth (points)"),
    "points_sum": N_("{total} of {wanted} points"),
    "rubric": N_("Rubric of step {number}"),
    "rubric_hint": N_("Rubric (optional): what earns the points"),
    # Modalities and name
    "required_hint": N_("Mark what the question cannot be answered without."),
    "name": N_("Name (optional)"),
    "name_hint": N_("Made from the task type if you leave it empty"),
    "twin": N_("A counterfactual twin: scored together with the others of its group, {name}."),
    "revises": N_("This draft revises {name}."),
    # Evidence: where each medium shows what it contributes
    "ev_none": N_("Once the question has media, mark here when and where each of them shows what is asked for."),
    "ev_play": N_("Play"),
    "ev_pause": N_("Pause"),
    "ev_play_keys": N_("← and → go back and forth by a tenth of a second, with Shift by a second"),
    "ev_line_hint": N_("Drag to mark a span; click to go there"),
    "ev_span": N_("Marked span of {place}"),
    "ev_start": N_("Start of the span of {place}"),
    "ev_end": N_("End of the span of {place}"),
    "ev_start_here": N_("Start here"),
    "ev_end_here": N_("End here"),
    "ev_start_s": N_("From (s)"),
    "ev_end_s": N_("To (s)"),
    "ev_play_span": N_("Play the span"),
    "ev_clear_span": N_("Clear the span"),
    "ev_end_first": N_("The span has to end after it starts."),
    "ev_outside": N_("That is outside of it: it lasts {duration}."),
    "ev_stage_hint": N_("Drag over the picture to mark a part of it"),
    "ev_draw_box": N_("Mark a part of the picture"),
    "ev_clear_box": N_("Clear the box"),
    "ev_move": N_("Box of {place}: arrow keys move it, with Shift further"),
    "ev_resize": N_("Corner of the box of {place}: arrow keys resize it, with Shift further"),
    "ev_left_px": N_("Left (px)"),
    "ev_top_px": N_("Top (px)"),
    "ev_width_px": N_("Width (px)"),
    "ev_height_px": N_("Height (px)"),
    "ev_note": N_("What {place} contributes"),
    "ev_note_hint": N_("What it contributes, in words (optional)"),
    "ev_dropped": N_(
        "<{place}> is another material now. What was marked in the one before does not hold for it, and was removed."
    ),
    "ev_unplayable": N_("This cannot be shown. Reload the page to try again."),
    # Findings
    "severity_missing": N_("To do:"),
    "severity_error": N_("Error:"),
    "severity_warning": N_("Warning:"),
    "open_points": N_("To do: {count}"),
    "only_warnings": N_("Warnings: {count}"),
    "nothing_open": N_("Nothing open"),
    # Handing in
    "hand_in": N_("Hand in"),
    "hand_in_ask": N_("Hand this question in for review?"),
    "hand_in_warnings": N_("Warnings that do not keep you from it: {count}. They are listed above."),
    "hand_in_now": N_("Yes, hand in"),
    "go_on_writing": N_("Go on writing"),
    # Versions
    "conflict_text": N_("They differ here. What you do not keep stays under “Versions”, and can be brought back."),
    "mine": N_("Yours"),
    "theirs": N_("{name}, {time}"),
    "keep_mine": N_("Keep mine"),
    "take_theirs": N_("Take theirs"),
    "go_on_with_choice": N_("Go on with what is marked"),
    "conflict_over": N_("Done. The other version is kept under “Versions”."),
    "kept_heading": N_("This browser kept words of {time} that were not saved"),
    "kept_text": N_("They differ from what is saved. What you bring back replaces it; the saved version stays, too."),
    "kept_here": N_("Kept in this browser"),
    "saved_there": N_("Saved"),
    "bring_back": N_("Bring them back"),
    "leave_saved": N_("Leave what is saved"),
    "kept_back": N_("Your words are back. What was saved before is kept under “Versions”."),
    "brought_back": N_("{label} is back. What stood here before is kept under “Versions”."),
    "not_replaced": N_("Your last words are not saved yet. Try again once they are."),
    "nothing": N_("(nothing)"),
    # Fields, as versions are compared
    "field_task_type": N_("Task type"),
    "field_language": N_("Language of the question"),
    "field_kind": N_("How it is answered"),
    "field_prompt": N_("Question"),
    "field_choices": N_("Choices"),
    "field_accepted": N_("The right answer"),
    "field_steps": N_("Steps"),
    "field_required": N_("Modalities that the question needs"),
    "field_asked_in": N_("The question itself is asked in"),
    "field_evidence": N_("What each modality contributes"),
    "field_name": N_("Name of the item"),
    "field_twin_group": N_("Twin group"),
}

# Graders of open answers and steps. No name stands for the one that grades where none is named.
GRADERS = {
    "": N_("Short text"),
    "number": N_("A number"),
    "yes_no": N_("Yes or no"),
    "enumeration": N_("A list in any order"),
    "ordered_enumeration": N_("A list in this order"),
    "ocr_substring": N_("Text read off a picture"),
    "bleu_1": N_("A sentence, by shared words"),
    "spoken_qa": N_("A spoken answer"),
}


def editor_words(t: Words) -> dict[str, str]:
    """Every text by its key, in the reader's language."""
    return {key: t(text) for key, text in TEXTS.items()}


def graders(t: Words) -> list[dict[str, str]]:
    """What an author can choose from."""
    return [{"id": name, "name": t(text)} for name, text in GRADERS.items()]


def kinds(t: Words) -> list[dict[str, str]]:
    """The kinds of question."""
    return [{"id": kind.value, "name": t(text)} for kind, text in labels.KINDS.items()]
