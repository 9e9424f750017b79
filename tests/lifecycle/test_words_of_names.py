"""Each word of the tables by which names of fields are read is a law: none of them may get lost."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.text import money_names as money
from lifecycle.text.masking import mask_text
from lifecycle.text.path_values import paths_in
from lifecycle.text.recipients import recipients_in, says_end_of_a_time, says_recipient
from lifecycle.text.secret_names import NAME_PARTS, secret_named

ADDRESSES = "address addresses addr addrs email emails mail mails list".split()


@pytest.mark.parametrize(
    "word",
    "pw credential credentials authorization cookie cookies jwt otp totp pin cvv cvc mnemonic "
    "bearer password passwords passwd passphrase passcode pwd passwort kennwort secret secrets "
    "token tokens pass_word pass_wd pass_phrase".split(),
)
def test_a_name_that_ends_in_a_word_for_a_credential_is_one(word: str) -> None:
    for name in (word, f"my_{word}", f"{word}_value", f"{word}_string"):
        assert secret_named(name), name
    assert not secret_named(f"{word}_policy")


@pytest.mark.parametrize(
    "word",
    "password passwords passwd passphrase passcode pwd passwort kennwort secret secrets".split(),
)
def test_some_words_for_a_credential_say_so_at_the_end_of_another_word(word: str) -> None:
    assert secret_named(f"main{word}")


@pytest.mark.parametrize(
    "whose",
    "api access private secret account signing encryption auth master service client session "
    "shared storage license ssh webhook deploy".split(),
)
def test_a_key_or_a_token_of_what_it_opens_is_a_credential(whose: str) -> None:
    for last in ("key", "keys", "token"):
        for name in (f"{whose}_{last}", f"{whose}{last}", f"my{whose}{last}"):
            assert secret_named(name), name


@pytest.mark.parametrize("whose", "refresh csrf bot bearer id".split())
def test_a_token_of_these_is_one_also_in_one_word(whose: str) -> None:
    assert secret_named(f"{whose}token")
    assert not secret_named(f"{whose}_key")


@pytest.mark.parametrize("whose", "primary sort foreign public partition".split())
def test_a_key_of_anything_else_is_none(whose: str) -> None:
    assert not secret_named(f"{whose}_key")


@pytest.mark.parametrize(
    "whose",
    "db database user admin root smtp imap mail ftp ssh http proxy mysql pg postgres redis "
    "login".split(),
)
def test_a_pass_of_these_is_a_password(whose: str) -> None:
    assert secret_named(f"{whose}_pass")
    assert secret_named(f"{whose}pass")
    assert not secret_named("checks_pass")


@pytest.mark.parametrize("whose", "recovery otp seed mfa totp".split())
def test_a_code_or_a_phrase_of_these_is_a_credential(whose: str) -> None:
    for last in ("code", "codes", "phrase"):
        assert secret_named(f"{whose}_{last}")
        assert secret_named(f"{whose}{last}")
    assert not secret_named("country_code")


@pytest.mark.parametrize(
    "which",
    "page next previous prev continuation cursor sync max min total count prompt input output "
    "completion used".split(),
)
def test_a_token_that_pages_or_counts_is_none(which: str) -> None:
    assert not secret_named(f"{which}_token")
    assert not secret_named(f"{which}_tokens")


@pytest.mark.parametrize("which", "old new current confirm confirmation repeat again".split())
def test_a_password_is_one_whichever_of_them_it_is(which: str) -> None:
    for password in "password passwd pwd passphrase passcode passwort".split():
        assert secret_named(f"{password}_{which}")
    assert not secret_named(f"cookie_{which}")


@pytest.mark.parametrize(
    "whose", "api access private secret signing encryption auth ssh license".split()
)
def test_prose_may_name_a_key_of_these_and_what_it_is_stays_unshown(whose: str) -> None:
    assert "hunter2x9" not in mask_text(f"the {whose} key: hunter2x9")


@pytest.mark.parametrize("whose", "session storage account master deploy".split())
def test_prose_may_tell_of_other_keys(whose: str) -> None:
    assert "bring" in mask_text(f"The {whose} key: bring a laptop.")


def test_whoever_looks_for_a_part_first_misses_no_name_that_says_secret() -> None:
    assert [each for each in NAME_PARTS if len(each) < 2] == []
    for name in "api_key db_pass csrf_token recovery_code mnemonic seed_phrase pin cvc cvv".split():
        assert any(part in name for part in NAME_PARTS), name


@pytest.mark.parametrize(
    "name",
    "from to cc bcc recipient recipients sender replyto reply_to header headers".split(),
)
def test_whoever_stands_below_one_of_these_names_is_a_recipient(name: str) -> None:
    assert says_recipient(name)
    assert values_of({name: ["the board"]}) == ["the board"]


@pytest.mark.parametrize(
    "word", "date dates time times period day days week month year hour hours valid".split()
)
def test_to_and_from_beside_one_of_these_are_ends_of_a_time(word: str) -> None:
    assert says_end_of_a_time(f"{word}_to", "")
    assert says_end_of_a_time("from", word)


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_of_a_recipient_is_one_if_it_holds_an_at(address: str) -> None:
    for first in "to cc bcc from sender recipient recipients replyto".split():
        for name in (f"{first}_{address}", f"{first}{address}"):
            assert values_of({name: "eve@evil.test"}) == ["eve@evil.test"], name
            assert values_of({name: "twelve"}) == [], name
    assert values_of({f"to_e_{address}": "eve@evil.test"}) == ["eve@evil.test"]


@pytest.mark.parametrize(
    "name", "mailto sendto forwardto deliverto copyto rcptto ccs bccs senders replytos".split()
)
def test_a_recipient_in_one_word_is_one_if_it_holds_an_at(name: str) -> None:
    assert values_of({name: "eve@evil.test"}) == ["eve@evil.test"]
    assert values_of({name: "twelve"}) == []


@pytest.mark.parametrize("said_in", "name key field header type kind label".split())
def test_a_field_that_names_the_one_beside_it_may_say_recipient(said_in: str) -> None:
    for beside in [*(set(ADDRESSES) - {"list"}), "value", "values"]:
        fields = {said_in: "Bcc", beside: "eve@evil.test"}
        assert "eve@evil.test" in values_of({"entries": [fields]}), beside
    fields = {said_in: "Bcc", "list": "eve@evil.test"}
    assert "eve@evil.test" not in values_of({"entries": [fields]})


@pytest.mark.parametrize(
    "name",
    "path paths file files filename filenames filepath dir dirs directory directories folder "
    "folders pathname pathnames dirname dirnames foldername foldernames directoryname filelist "
    "pathlist file_name path_list".split(),
)
def test_what_stands_below_one_of_these_names_is_a_path(name: str) -> None:
    assert [place.value for place in paths_in({name: "notes"})] == ["notes"]
    assert [place.value for place in paths_in({f"old_{name}": ["notes"]})] == ["notes"]
    assert list(paths_in({f"{name}_count": "notes"})) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("amount", money.Says.AMOUNT),
        ("amount_minor", money.Says.MINOR),
        ("amountminor", money.Says.MINOR),
        ("currency", money.Says.CURRENCY),
        ("items", money.Says.LIST),
        ("amounts", money.Says.LIST),
    ],
)
def test_these_names_say_what_the_rule_reads(name: str, says: money.Says) -> None:
    assert money.said_by(name) is says
    assert money.said_by(f"other_{name}") is None


@pytest.mark.parametrize("word", ["amount", "amounts", "currency"])
def test_a_name_with_one_of_these_anywhere_speaks_of_money(word: str) -> None:
    assert money.says_money(f"the_{word}_here")


@pytest.mark.parametrize(
    "word",
    "price cost sum fee charge payment refund cents prices costs sums fees amount amounts".split(),
)
def test_a_number_with_one_of_these_as_its_last_word_is_a_price(word: str) -> None:
    for name in (word, f"unit_{word}", f"{word}_usd"):
        assert money.says_price(name), name


@pytest.mark.parametrize("word", ["price", "prices", "amount", "amounts"])
def test_a_number_of_a_word_that_ends_in_one_of_these_is_a_price(word: str) -> None:
    assert money.says_price(f"unit{word}")


@pytest.mark.parametrize(
    "measure",
    "g mg kg lb lbs oz ml cl dl mm cm km pct percent percentage days hours minutes".split(),
)
def test_an_amount_of_a_measure_is_no_price(measure: str) -> None:
    assert money.says_price("amount_due")
    assert not money.says_price(f"amount_{measure}")


@pytest.mark.parametrize(
    "currency",
    "usd eur gbp chf jpy cny inr brl cad aud nzd sek nok dkk pln czk huf try mxn zar sgd hkd krw "
    "dollar dollars euro euros".split(),
)
def test_a_price_may_be_called_by_its_currency(currency: str) -> None:
    for name in "price total value charges payments refunds amount".split():
        assert money.says_price(f"{name}_{currency}"), name
    assert not money.says_price(f"rate_{currency}")
    assert money.says_part_of_price(currency)


def test_some_names_say_price_only_where_money_is_about() -> None:
    for name in ("total", "value"):
        assert money.says_perhaps_price(name)
        assert money.says_part_of_price(name)
        assert not money.says_price(name)
    for name in ("charges", "payments", "refunds"):
        assert money.says_how_many(name)
        assert not money.says_price(name)


def values_of(parameters: dict[str, Any]) -> list[Any]:
    return [place.value for place in recipients_in({"parameters": parameters})]
