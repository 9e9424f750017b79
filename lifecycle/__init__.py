"""The law of Signoff: pure, without a platform, a database or a clock of its own.

Read `workflow.py` first: it has all verbs, in the order of a proposal's life. Beside it stand the
nouns (`state`, `tier`, `proposal`, `policy`, `permit`, `audit`), the one door of every change
(`door`), and the `world` that all work with: its ports (`surroundings`), units in the store
(`units`, `many`), calls that outlive their caller (`background`), and what people are told where
the bot itself fails (`troubles`). What belongs together otherwise has a room:

- `first_gate`: bytes become a document that says one thing, or are refused
- `text`: text as its reader takes it; credentials, imitations, money in it
- `checking`: Sentinel and its rules at work
- `people`: what people do to a proposal
- `calls`: tools, from the claim to the end; `agents`: tools that the agent itself runs
- `clockwork`: what the clock brings, and what a start finds
- `agreeing`: whether rows say what the trail tells
- `llm`: plans of language models
"""
