"""The law of Signoff: pure, without a platform, a database or a clock of its own.

Read `workflow.py` first: it has all verbs, in the order of a proposal's life. Beside it stand the
nouns (`state`, `tier`, `proposal`, `policy`, `permit`, `audit`), the one door of every change
(`door`), the `ports`, and the `world` that all verbs work with. docs/walk.md walks along three
roads through all of it. Modules that belong together have a folder, in the order of a life:

- `first_gate`: turns bytes into a document that says one thing, or refuses them
- `admitting`: takes a document in, from the first gate to its row
- `llm`: plans of language models, which become documents or questions
- `judging`: asks Sentinel when a verdict is needed; `verdicts`: what one rests on, and does
- `checking`: runs Sentinel and its rules
- `people`: what people do to a proposal
- `stops`: a ❌ or a freeze that cannot be carried out yet, or that nobody has heard
- `calls`: calls of tools, from the claim to the end; `agents`: tools that the agent itself runs
- `clockwork`: what the clock brings, and what a start finds
- `agreeing`: whether rows say what the trail tells
- `text`: reads text as people would; finds credentials, imitations and money in it
- `workings`: units in the store, work that outlives its caller, and what the bot cannot do
"""
