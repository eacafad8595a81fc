"""The super-instructions that the runtime has, so that messages can show their declarations."""

from __future__ import annotations

# Intents by name: those of src/sial/builtins/, which docs/sial/plugins.md describes.
BUILT_IN = {
    "blocks_to_list": "r",
    "busy_compute": "rr",
    "check_block_number_calculation": "w",
    "cholesky": "u",
    "diis": "uuu",
    "disable_all_rank_print": "",
    "disable_debug_print": "",
    "divide_by_gaps": "urrrr",
    "eigen_generalized": "uuw",
    "eigen_symmetric": "uw",
    "enable_all_rank_print": "",
    "enable_debug_print": "",
    "fill_block_cyclic": "wr",
    "fill_block_sequential": "wr",
    "fill_random": "wrr",
    "get_first_block_element": "rw",
    "get_my_rank": "w",
    "get_worker_count": "w",
    "inverse_sqrt": "ur",
    "list_block_map": "",
    "list_blocks_with_number": "",
    "list_to_blocks": "w",
    "multiply_elements": "urr",
    "one_arg_no_op": "r",
    "print_block": "r",
    "print_block_and_index": "r",
    "print_static_array": "r",
    "read_block_from_file": "w",
    "read_block_from_text_file": "w",
    "return_sval": "rw",
    "set_identity": "w",
    "solve": "ru",
    "svd": "uwww",
    "swap_blocks": "uu",
    "transpose": "wr",
    "write_block_to_file": "r",
}


def declaration(name: str) -> str:
    """Returns the line that declares a built-in super-instruction."""
    return f"special {name} {BUILT_IN[name]}".rstrip()
