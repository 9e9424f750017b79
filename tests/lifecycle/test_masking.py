"""Credentials are never shown, wherever they stand (design section 8)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lifecycle.text.masking import mask_secrets, mask_text
from lifecycle.text.secret_names import secret_named
from lifecycle.text.secrets_found import find_secrets

SHAPES = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2" * 10,
    "glpat-" + "a1B2" * 6,
    "xoxb-1234567890-abcdefghij",
    "xapp-1-A0123-456-abcdef",
    "sk-ant-api03-" + "a1B2" * 8,
    "sk_live_" + "a1B2" * 6,
    "whsec_" + "a1B2" * 8,
    "AIza" + "a" * 35,
    "npm_" + "a1B2" * 9,
    "SG." + "a" * 22 + "." + "b" * 43,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "sk-" + "aB3" * 9,
    "sk-or-v1-" + "a1b2" * 16,
    "dop_v1_" + "a1b2" * 16,
    "shpat_" + "a1" * 16,
    "hvs.CAESI" + "a1B2" * 20,
    "dapi" + "a1" * 16,
    "ATATT3xFfGF0" + "a1B2" * 20,
    "lin_api_" + "a1B2" * 10,
    "dp.pt." + "a1B2" * 10,
    "0a1b2c3d" * 4 + "-us12",
    "sq0csp-" + "a1B2" * 11,
    "MTA0" + "a" * 22 + ".Gabcde." + "b" * 38,
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SHAPES)
def test_a_credential_is_known_by_its_shape(secret):
    assert mask_text(f"take {secret} and go") == f"take ‹secret, {len(secret)} characters› and go"


def test_a_private_key_that_was_cut_off_is_masked_to_the_end():
    assert mask_text("take -----BEGIN PRIVATE KEY-----\nMIIE\nabc") == (
        "take ‹secret, 36 characters›"
    )


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("password=hunter2", "password=‹secret, 7 characters›"),
        ("Password: hunter2 works", "Password: ‹secret, 7 characters› works"),
        ("export PGPASSWORD='a b'", "export PGPASSWORD='‹secret, 3 characters›'"),
        ("mysql --password hunter2 -u x", "mysql --password ‹secret, 7 characters› -u x"),
        ("pg_dump --password=hunter2 -x", "pg_dump --password=‹secret, 7 characters› -x"),
        ("(-token=abcd1)", "(-token=‹secret, 5 characters›)"),
        ("DB_PASS=hunter2", "DB_PASS=‹secret, 7 characters›"),
        ('{"SecretString": "hunter2', '{"SecretString": "‹secret, 7 characters›'),
        ('{"api_key": "k-1", "x": 1', '{"api_key": "‹secret, 3 characters›", "x": 1'),
        ('{"api_key": "k-1', '{"api_key": "‹secret, 3 characters›'),
        ("redis://u:p%40w@h:1/0", "redis://u:‹secret, 5 characters›@h:1/0"),
        ("redis://:pw@h", "redis://:‹secret, 2 characters›@h"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic ‹secret, 12 characters›"),
        ("config: token=abcd1", "config: token=‹secret, 5 characters›"),
        ("pASSWORD=hunter2", "pASSWORD=‹secret, 7 characters›"),
        ("curl -u pat:hunter2 https://x", "curl -u pat:‹secret, 7 characters› https://x"),
        ("curl -upat:hunter2 https://x", "curl -upat:‹secret, 7 characters› https://x"),
        ("curl -sSu 'pat:hun ter' x", "curl -sSu 'pat:‹secret, 7 characters›' x"),
        ("git clone https://a1b2c3d4e5@h/x", "git clone https://‹secret, 10 characters›@h/x"),
        ("mailgun: key-" + "a1" * 16, "mailgun: ‹secret, 36 characters›"),
        ('password = decode("hunter2")', 'password = ‹secret, 6 characters›("hunter2")'),
        ("Cookie: sid=abcd1", "Cookie: ‹secret, 9 characters›"),
        ("Kennwort: geheim99", "Kennwort: ‹secret, 8 characters›"),
        ("mfa_code=ab12cd34", "mfa_code=‹secret, 8 characters›"),
        ('"recovery_codes": "ab cd"', '"recovery_codes": "‹secret, 5 characters›"'),
        ("seed_phrase='ab cd ef'", "seed_phrase='‹secret, 8 characters›'"),
        (
            "export SSHKEY=abcd DBPASS=efgh",
            "export SSHKEY=‹secret, 4 characters› DBPASS=‹secret, 4 characters›",
        ),
        ("Authorization: token a1b2c3d4", "Authorization: token ‹secret, 8 characters›"),
        ("-H 'authorization: Bot Mz9.x_y-z'", "-H 'authorization: Bot ‹secret, 9 characters›'"),
        ("API key: k-1234567890", "API key: ‹secret, 12 characters›"),
        ("the access key = k-1234", "the access key = ‹secret, 6 characters›"),
        ("My password is hunter2.", "My password is ‹secret, 7 characters›."),
        ("The API token is: `a1b2c3`", "The API token is: `‹secret, 6 characters›`"),
        ("<password>hunter</password>", "<password>‹secret, 6 characters›</password>"),
        ("mysql -u root -phunter2 shop", "mysql -u root -p‹secret, 7 characters› shop"),
        ("mysql shop -p'hun ter' -u x", "mysql shop -p'‹secret, 7 characters›' -u x"),
        ("mariadb-dump -u x -phunter2 a", "mariadb-dump -u x -p‹secret, 7 characters› a"),
        (
            "CREATE USER a IDENTIFIED BY 'hi'",
            "CREATE USER a IDENTIFIED BY '‹secret, 2 characters›'",
        ),
        ("ALTER ROLE a WITH PASSWORD 'x'", "ALTER ROLE a WITH PASSWORD '‹secret, 1 characters›'"),
        ("sshpass -p hunter2 ssh h", "sshpass -p ‹secret, 7 characters› ssh h"),
        (
            "https://a.example/f?sv=2026-04-06&se=2027&sig=a1B2c3%2Fd4E5f6g7H8i9%3D&sp=r",
            "https://a.example/f?sv=2026-04-06&se=2027&sig=‹secret, 24 characters›&sp=r",
        ),
        (
            "https://b.example/o?X-Amz-Expires=60&X-Amz-Signature=" + "a1" * 32,
            "https://b.example/o?X-Amz-Expires=60&X-Amz-Signature=‹secret, 64 characters›",
        ),
    ],
)
def test_a_credential_is_known_by_what_it_is_assigned_to(text, masked):
    assert mask_text(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "api key rotation plan",
        "password: please choose one",
        "The secret: patience, and a token of thanks",
        "reset your password: https://shop.example/reset",
        "the bearer certificate. ok",
        "bearer shares are fine",
        "basic training",
        "boarding_pass=12A4 test_pass=17 --no-passes=3",
        "key value=12 token_count_value=7",
        "max_tokens=4096 next_page_token=abc123",
        "password=${PASSWORD} token=<token> secret_env=DEPLOY_SECRET",
        "https://shop.example:8080/a@b",
        "password=",
        "Invoice 2847 at 12:30",
        "https://shop.example/sk-zimna-kolekcia-2026-akcia",
        "Read sk-slovensko-konferencia-bratislava today",
        "object key-d41d8cd98f00b204e9800998ecf8427e",
        "const token = getToken(); secret = config.get('x')",
        'api_key = os.environ["KEY"]',
        "PIN: 560001",
        "Cookie: oats4you",
        '{"tokens": 512}',
        '{"cookies": "necessary"}',
        "curl -u $USER:$PASSWORD https://x.example",
        "https://pat@git.example/x",
        "Authorization: token of the customer",
        "Authorization: see ticket-4821-b",
        "https://a.example/?sig=signature_of_the_director",
        "https://a.example/off?u=7&sig=a1B2c3d4E5f6g7H8i9j0k1",
        "The signature=handwritten, on page 12",
        "API key: see page 12",
        "Room key: A-1204, and the client key: ACME-42",
        "The password is 8-16 characters long and 12chars at least",
        "The password is sha256-hashed, the API key is base64-encoded",
        "The password is required; the secret is patience",
        "<token>{{ token }}</token>",
        "Write `export DISCORD_TOKEN=…`. Then *go* on",
        "export SLACK_SECRET=***\nexport **COLOUR**=a1b2",
        "mysql -u root -p shop",
        "mysql is slow - please look at -progress",
        "We use mysql; pass -please to the script",
        "mysql -u root shop | grep -pattern",
        "curl -u https://x.example",
        "SSH key: ed25519, signing key: RSA-4096, encryption key: AES-256-GCM",
        "ssh key: id_ed25519.pub, signing keys: ES256/RS256",
        "The private key is ed25519",
    ],
)
def test_ordinary_words_stay(text):
    assert mask_text(text) == text


@pytest.mark.parametrize(
    "name",
    "password db.password clientSecret client_secret API_KEY apiKey api-key x-api-key AccountKey "
    "PGPASSWORD Authorization privateKey access_token token token2 cookie cvv Set-Cookie dbPass "
    "SMTP_PASS secret_value token_value pass_phrase ssh_pass_word kennwort seed_phrase".split(),
)
def test_a_name_that_ends_in_a_credential_says_secret(name):
    assert secret_named(name)


@pytest.mark.parametrize(
    "name",
    "password_policy secret_env key primary_key max_tokens page_token tokens_used note keyboard "
    "passwordless monkey author authority pass boarding_pass boarding_pass_code bypass value "
    "key_value page_token_value nextpagetoken PRIMARYKEY passcodes_used".split(),
)
def test_a_name_that_only_mentions_one_does_not(name):
    assert not secret_named(name)


def test_everything_below_a_secret_name_is_masked():
    value = {"credentials": {"user": "x", "codes": [12, None, True]}, "n": 1}

    assert mask_secrets(value) == {
        "credentials": {
            "user": "‹secret, 1 characters›",
            "codes": ["‹secret, 2 characters›", None, True],
        },
        "n": 1,
    }


def test_masking_twice_changes_nothing():
    once = mask_secrets({"password": "hunter2", "note": "token=abcd1"})

    assert mask_secrets(once) == once


def test_two_keys_that_are_masked_alike_are_both_seen():
    value = {"AKIAIOSFODNN7EXAMPLE": 1, "AKIAIOSFODNN7EXAMPLF": 2}

    assert sorted(mask_secrets(value).values()) == [1, 2]


def test_spans_are_in_order_and_apart():
    text = "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln password=abcd1 "

    spans = find_secrets(text * 3)

    assert len(spans) == 6
    assert all(a.end <= b.start for a, b in pairwise(spans))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a:",
        '"',
        '\\"',
        "a.b-",
        "bearer ",
        "://",
        "a://b:",
        "password=",
        '"password":"',
        "\n",
        "my password is ",
        "api key: ",
        "<token>",
        "<a>b",
        "mysql ",
        "sshpass -p ",
        "curl -u ",
        "mysql -a ",
        "curl -u a:b ",
        "\ufdfa",
        "tok**en**=a1b2\n",
    ],
)
def test_no_text_of_64_kib_keeps_the_search_busy(piece):
    find_secrets(text := piece * (300_000 // len(piece)))
    mask_text(text)


@pytest.mark.parametrize(
    "value",
    ["$uper5ecret!9", "<3mysecretpw", "hidden hunter2xyz", "(hunter2", "%hunter2", "true love 7",
     "changed 4me", "[x", "{y9", "*hunter2", "$Secret99", "${x}hunter2}", "{x}hunter2{y}",
     "env://hunter2-real-password", "vault:/S3cr3tP4ss", "op://S3cr3tP4ss"],
)  # fmt: skip
def test_what_only_begins_like_a_stand_in_is_a_credential(value):
    masked = mask_secrets({"smtp_password": value})["smtp_password"]

    assert masked == f"‹secret, {len(value)} characters›"


@pytest.mark.parametrize(
    "value",
    ["${PAYMENTS_KEY}", "$PAYMENTS_KEY", "$password", "$(pass show x)", "{{ secret }}", "<token>",
     "%PASSWORD%", "%(password)s", "[redacted]", "(see the vault)", "********", "****1234", "xxxx",
     "REDACTED", "none", "vault://kv/x", "", "n/a", "N/A", "-", "--", "tbd", "TODO",
     "vault://kv/prod/smtp#password", "op://Private/My Mail/password", "env://API_KEY",
     "secretref://smtp-password", "ssm:/prod/db/password", "${{ secrets.X }}", "${A:-${B}}",
     "(S3cr3t!pass)", "%hunter2%", "<hunter2>"],
)  # fmt: skip
def test_what_stands_for_a_credential_is_shown(value):
    assert mask_secrets({"smtp_password": value}) == {"smtp_password": value}
