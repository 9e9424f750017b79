"""This package reads texts as their reader takes them: hidden, imitating, secret, or money.

Each question has a module, and its docstring says the law. Begin with what a rule objected to:

- a name of a field: `field_names` splits it into words; which of them say something stands in
  `secret_names`, `recipients`, `money_names` and `path_values`;
  `field_paths` finds forbidden fields
- a credential: in a text `secrets_found`, with the shapes in `secret_shapes`; by what stands above,
  beside or before it `secrets_beside`; in disguise `disguises`; which values are none
  `secret_values`. `masking`, `quoted_secrets` and `personal_data` mask what these find
- an amount or a price: `amounts`, and for what nothing calls an amount `bare_numbers`
- a path: `path_values` finds it, `plain_paths` says where it leads
- a phrase: `values` and `pieces` gather the texts, `markup` takes off what dresses and hides
  (`hypertext`, `elements`, `hiding`, `turned`), `folding` makes one of what looks alike
- a repeat of what was refused: `undressed`
"""
