"""The verdict that each attack brings upon the cell that it is about; the others end well."""

from tests.hostile import attacks
from tests.hostile.attacks import Attack

KEPT = [
    attacks.other_run_beside,
    attacks.other_run_nested,
    attacks.invented_run,
    attacks.compact_file,
    attacks.fifo_as_part,
    attacks.link_to_text_of_the_host,
    attacks.link_out_of_the_folder,
    attacks.text_that_is_none,
    attacks.setuid,
    attacks.strange_names,
    attacks.many_files,
    attacks.deep_folders,
    attacks.nested_line,
    attacks.wrong_types,
    attacks.endless_line,
    attacks.talk_about_others,
]
"""What lies beside a sound record, or is only said: the cell keeps its verdict."""
LOST = [
    attacks.other_run_under_a_planned_name,
    attacks.other_cell_under_a_planned_name,
    attacks.another_row_behind_the_record,
    attacks.path_as_job,
    attacks.other_image,
    attacks.other_host,
    attacks.other_model,
    attacks.other_machine_of_the_same_id,
    attacks.other_environment_of_the_same_id,
    attacks.replay_of_something_else,
    attacks.of_another_source,
    attacks.not_a_number,
    attacks.infinite,
    attacks.negative,
    attacks.refuted_by_its_durations,
    attacks.from_the_future,
    attacks.fifo,
    attacks.endless_device,
    attacks.folder_as_record,
    attacks.link_to_a_record_of_the_host,
    attacks.two_names,
]
"""What stands where the record belongs: the cell is lost."""

NOTHING = {
    attacks.folder_as_temporary_file: "lost",
    attacks.disk_is_full: "lost",
    attacks.claims_without_records: "failed",
}
"""What leaves nothing in the record's place: a failure like others."""
FEW = frozenset(
    {
        attacks.other_run_beside,
        attacks.link_out_of_the_folder,
        attacks.talk_about_others,
        attacks.other_run_under_a_planned_name,
        attacks.another_row_behind_the_record,
        attacks.other_machine_of_the_same_id,
        attacks.refuted_by_its_durations,
        attacks.link_to_a_record_of_the_host,
        *NOTHING,
    }
)
"""Those that the gate tries: one of a kind. The others resemble one, and are tried by night."""
BY_CONTAINER: dict[Attack, str] = {
    attacks.many_values: "lost",
    attacks.many_lines: "ok",
    attacks.sleeps_with_stdout_closed: "timeout",
    attacks.talks_without_end: "timeout",
    attacks.fills_the_disk: "failed",
}
"""What only a process of its own can do, or takes long."""
