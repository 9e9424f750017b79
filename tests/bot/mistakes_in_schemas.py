"""Mistakes in the schema that a config gives a tool."""

from __future__ import annotations

#: what is exchanged, for what, the key that is named, a piece of the sentence
IN_SCHEMAS = {
    "bad JSON Schema": (
        "    effects: [email]",
        "    parameters: {type: strin}",
        "tools.send-email.parameters.type",
        "no JSON Schema",
    ),
    "schema that reads elsewhere": (
        "    effects: [email]",
        "    parameters: {$ref: 'http://x.example/s'}",
        'tools.send-email.parameters["$ref"]',
        "nothing is fetched",
    ),
    "pattern in a schema that could run for ever elsewhere": (
        "    effects: [email]",
        "    parameters: {properties: {to: {pattern: '(?=a)b'}}}",
        "tools.send-email.parameters.properties.to.pattern",
        "RE2 cannot read",
    ),
    "keyword whose patterns backtrack": (
        "    effects: [email]",
        "    parameters: {patternProperties: {'^(a+)+$': {}}, unevaluatedProperties: false}",
        "tools.send-email.parameters.unevaluatedProperties",
        "not served",
    ),
    "a number in a schema that no JSON reader keeps": (
        "    effects: [email]",
        "    parameters: {properties: {amount: {maximum: 9007199254740993}}}",
        "tools.send-email.parameters.properties.amount.maximum",
        "finite and shorter",
    ),
    "misspelt keyword of a schema": (
        "    effects: [email]",
        "    parameters: {properties: {to: {maxlength: 5}}}",
        "tools.send-email.parameters.properties.to.maxlength",
        "Did you mean maxLength?",
    ),
    "names of parameters where keywords stand": (
        "    effects: [email]",
        "    parameters: {amount: {type: string}}",
        "tools.send-email.parameters.amount",
        "Names of parameters stand under properties",
    ),
    "keyword of an older draft": (
        "    effects: [email]",
        "    parameters: {dependencies: {bcc: [reason]}}",
        "tools.send-email.parameters.dependencies",
        "use dependentRequired",
    ),
    "schema of another draft": (
        "    effects: [email]",
        "    parameters: {$schema: 'http://json-schema.org/draft-07/schema#'}",
        'tools.send-email.parameters["$schema"]',
        "draft 2020-12 are read alone",
    ),
}
