"""The law of Signoff: pure, without a platform, a database or a clock of its own.

Read `workflow.py` first: it has all verbs, in the order of a proposal's life. Beside it stand the
nouns (`state`, `tier`, `proposal`, `policy`, `permit`, `audit`), the one door of every change
(`door`), and the `world` that all work with: its ports (`surroundings`), units in the store
(`units`, `many`), calls that outlive their caller (`background`), and what people are told when the
bot itself fails (`troubles`). Other modules that belong together have a folder:

- `first_gate`: turns bytes into a document that says one thing, or refuses them
- `text`: reads text as people would; finds credentials, imitations and money in it
- `checking`: runs Sentinel and its rules
- `people`: what people do to a proposal
- `calls`: calls of tools, from the claim to the end; `agents`: tools that the agent itself runs
- `clockwork`: what the clock brings, and what a start finds
- `agreeing`: whether rows say what the trail tells
- `llm`: plans of language models
"""
