"""Secrets never survive, and what only looks like one does."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, shared
from hypothesis import given
from hypothesis import strategies as st

from cortex_git.events.model import DECISION, FILE_MODIFIED, Event
from cortex_git.events.redact import faults, is_sensitive_path, redact, redact_event

DATA = Path(__file__).parent / "data" / "secrets"
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def _read(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of a file, their base64 undone."""
    rows = [json.loads(line) for line in (folder / name).read_text().splitlines()]
    return [
        {
            key.removesuffix("_b64"): base64.b64decode(v).decode() if key.endswith("_b64") else v
            for key, v in row.items()
        }
        for row in rows
    ]


POSITIVES = _read(DATA, "positives.jsonl")
NEGATIVES = _read(DATA, "negatives.jsonl")


def _some(random: random.Random, length: int, alphabet: str = LETTERS) -> str:
    return "".join(random.choice(alphabet) for _ in range(length))


def _uuid(random: random.Random) -> str:
    return "-".join(_some(random, length, HEX) for length in (8, 4, 4, 4, 12))


def _base64(random: random.Random, size: int) -> str:
    return base64.b64encode(random.randbytes(size)).decode()


@pytest.mark.parametrize("row", POSITIVES, ids=lambda row: f"{row['id']}-{row['kind']}")
def test_secrets_go(row: dict[str, str]) -> None:
    """Nothing of a secret is left, and redacting again changes nothing."""
    clean = redact(row["text"])
    assert row["secret"] not in clean
    assert "[REDACTED:" in clean
    assert clean == redact(clean)


@pytest.mark.parametrize("row", NEGATIVES, ids=lambda row: f"{row['id']}-{row['kind']}")
def test_look_alikes_stay(row: dict[str, str]) -> None:
    """Hashes, identifiers, placeholders, public keys, code and prose are not touched."""
    assert row["text"] == redact(row["text"])


def test_the_data_is_what_is_shared() -> None:
    """The copies are those of the material beside the project."""
    for name in ("positives.jsonl", "negatives.jsonl"):
        assert (shared("secrets") / name).read_bytes() == (DATA / name).read_bytes()


PROSE = [
    "We moved the token refresh into its own module, because the cache is shared.",
    "The password reset page and the API key form now use one component (see src/forms/secret_field.tsx).",
    "Decision: keep sessions in Redis 7.2; commit 6146c3be990b8745fcd82f446bf739969a75b56b has the benchmark.",
]
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "sentence": lambda text: f"please try {text} and tell me what happens",
    "lines": lambda text: f"first line\n{text}\nlast line",
    "crlf": lambda text: text.replace("\n", "\r\n") + "\r\nend\r\n",
    "fence": lambda text: f"```sh\n{text}\n```",
    "prompt": lambda text: f"$ {text}\n> done",
    "chained": lambda text: f"cd /srv/app && {text} | tee out.log",
    "json": lambda text: json.dumps({"command": text, "description": "Run it"}),
    "json in json": lambda text: json.dumps({"tool_input": json.dumps({"command": f"ls; {text}"})}),
    "json without ascii": lambda text: json.dumps([{"type": "text", "text": f"a\tb {text}"}], ensure_ascii=False),
    "tool result": lambda text: f"<tool_result>{text}</tool_result>",
    "listing": lambda text: "".join(f"{n:6}→{line}\n" for n, line in enumerate(text.split("\n"), 1)),
    "diff": lambda text: "@@ -1 +1 @@\n" + "".join(f"+{line}\n" for line in text.split("\n")),
    "quote": lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
    "table": lambda text: f"| what | value |\n| --- | {text} |",
    "colour": lambda text: f"\x1b[32m{text}\x1b[0m",
    "brackets": lambda text: f"({text})",
    "markup": lambda text: f"<p>{html.escape(text, quote=False)}</p>",
    "after an address": lambda text: f"see https://example.com/docs?page=2&sort=asc#top {text}",
    "indented": lambda text: "".join(f"      {line}\n" for line in text.split("\n")),
}


def test_two_thousand_placements() -> None:
    """Wherever a secret is put, in prose, commands, JSON, listings, it does not survive."""
    chance = random.Random(4)
    kept = []
    for number in range(2000):
        row = POSITIVES[number % len(POSITIVES)]
        name = chance.choice(list(WRAPPINGS))
        text = WRAPPINGS[name](row["text"])
        if chance.random() < 0.5:
            text = f"{chance.choice(PROSE)}\n{text}\n{chance.choice(PROSE)}"
        clean = redact(text)
        written = {row["secret"], json.dumps(row["secret"])[1:-1], html.escape(row["secret"], quote=False)}
        if any(secret in clean for secret in written) or clean != redact(clean):
            kept.append((row["id"], name))
    assert kept == []


def test_prose_around_a_secret_stays() -> None:
    """What stands before and after a secret is kept word for word."""
    for row in POSITIVES:
        clean = redact(f"{PROSE[0]}\n{row['text']}\n{PROSE[1]}\n")
        assert clean.startswith(PROSE[0] + "\n")
        assert clean.endswith("\n" + PROSE[1] + "\n")


PREFIXED = [
    ("ghp_{}", 36, LETTERS),
    ("github_pat_{}", 60, LETTERS + "_"),
    ("glpat-{}", 20, LETTERS),
    ("AKIA{}", 16, string.ascii_uppercase),
    ("xoxp-{}", 40, LETTERS + "-"),
    ("sk-{}", 48, LETTERS),
    ("sk-ant-api03-{}AA", 93, LETTERS + "_-"),
    ("AIza{}", 35, LETTERS),
    ("hf_{}", 34, LETTERS),
    ("sk_live_{}", 24, LETTERS),
    ("whsec_{}", 32, LETTERS),
    ("npm_{}", 36, LETTERS),
    ("dop_v1_{}", 64, HEX),
    ("SG.{}.qPz7RkVw2LmXc9TbHs4YdNf8JgKa", 22, LETTERS),
    ("key-{}", 32, HEX),
    ("figd_{}", 40, LETTERS),
    ("ntn_{}", 46, LETTERS),
    ("tskey-auth-{}", 24, LETTERS),
    ("hvs.{}", 24, LETTERS),
    ("dckr_pat_{}", 27, LETTERS),
    ("glsa_{}", 40, LETTERS + "_"),
    ("shpat_{}", 32, HEX),
    ("dapi{}", 32, HEX),
    ("sbp_{}", 40, HEX),
    ("lin_api_{}", 40, LETTERS),
    ("pypi-AgEIcHlwaS5vcmc{}", 90, LETTERS),
    ("ya29.{}", 60, LETTERS + "-_"),
    ("AGE-SECRET-KEY-1{}", 58, string.ascii_uppercase + "0234567"),
]
NAMED = [
    "PASSWORD={}",
    "export DB_PASSWORD='{}'",
    'API_TOKEN="{}"',
    "SECRET_KEY: {}",
    '{{"password": "{}"}}',
    "clientSecret: '{}',",
    'const apiKey = "{}";',
    "password = {}",
    'let token: string = "{}";',
    'api_key := "{}"',
    '#define SECRET "{}"',
    "<password>{}</password>",
    '<add key="ApiKey" value="{}" />',
    'os.environ["AUTH_TOKEN"] = "{}"',
    "--token {}",
    "--password={}",
    "X-Api-Key: {}",
    "Authorization: Bearer {}",
    "https://api.example.com/v1?token={}",
    "https://ci:{}@git.example.com/x.git",
    "postgres://app:{}@db:5432/app",
    "name: DB_PASSWORD\n  value: {}",
    '{{"name": "API_KEY", "value": "{}"}}',
    "the password is {}",
    "machine example.com login me password {}",
    "//r.example.com/:_authToken={}",
    'setPassword("{}")',
    "Cookie: sessionid={}",
    "docker run -e POSTGRES_PASSWORD={} postgres",
    "sshpass -p {} ssh a@b",
    "mysql -u root -p{} app",
    "curl -u admin:{} https://x.example",
    "redis-cli -a {} ping",
    "echo {} | docker login -u me --password-stdin",
    "CREATE USER a IDENTIFIED BY '{}';",
    'requests.get(url, auth=("me", "{}"))',
    "kubectl create secret generic a --from-literal=token={}",
    "Server=a;User Id=b;Password={};",
    "kind: Secret\nstringData:\n  anything: {}",
    "ENV JWT_SECRET {}",
    "aws configure set aws_secret_access_key {}",
]


@pytest.mark.parametrize("shape", PREFIXED, ids=lambda shape: shape[0])
def test_tokens_are_known_by_their_prefix(shape: tuple[str, int, str]) -> None:
    """A provider's token is found with nothing beside it, also right after an escaped line end."""
    chance = random.Random(shape[0])
    for _ in range(20):
        token = shape[0].format(_some(chance, shape[1], shape[2]))
        for text in (token, f"use {token}, please", f'"a\\n{token}\\n"', f"x%3D{token}", f"see `{token}`."):
            assert token not in redact(text)


@pytest.mark.parametrize("shape", PREFIXED, ids=lambda shape: shape[0])
def test_tokens_that_count_in_part_go(shape: tuple[str, int, str]) -> None:
    """A run such as 1234567, a word or dots beside a random token do not make it a placeholder."""
    form, length, letters = shape
    chance = random.Random(form)
    runs = ("1234567", "9876543", "deadbeef", "ABCDEFG", "abcdefg", "qwerty", "cafebabe")
    for run in runs:
        if set(run) <= set(letters):
            at = chance.randrange(length - len(run) + 1)
            rest = _some(chance, length - len(run), letters)
            token = form.format(rest[:at] + run + rest[at:])
            assert token not in redact(f"use {token}, please")
    token = form.format(_some(chance, length, letters))
    assert token not in redact(f"I used {token}... and it went")


@pytest.mark.parametrize(
    "form",
    [
        "xoxb-123456789012-1234567890123-{}",
        "xoxp-123456789012-123456789012-9876543210987-{}",
        "xoxe.xoxp-1-{}",
        "xapp-1-A0123456789-1234567890123-{}",
        "xoxb-xxxxxxxxxxxx-xxxxxxxxxxxxx-{}",
        "xoxb-EXAMPLE-{}",
    ],
)
def test_numbers_beside_the_secret_part_do_not_excuse_it(form: str) -> None:
    """The secret part of a token goes, whatever the account and the place before it look like."""
    chance = random.Random(form)
    for secret in ("AbCdEfGhIjKlMnOpQrStUvWx", *(_some(chance, 24) for _ in range(50))):
        assert secret not in redact(f"SLACK={form.format(secret)}")
        assert secret not in redact(f"posted with {form.format(secret)} today")


@pytest.mark.parametrize(
    "token",
    [
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_AbCdxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx",
        "xoxb-123456789012-1234567890123-xxxxxxxxxxxxxxxxxxxxxxxx",
        "xoxb-123456789012-your-token-here",
        "xoxb-your-bot-token",
        "glpat-your_access_token_here",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-proj-abcd1234............",
    ],
)
def test_tokens_that_are_filling_stay(token: str) -> None:
    """A prefix with filling, masks or words in the secret's place is a placeholder."""
    assert token == redact(token)


def test_tokens_that_only_count_go() -> None:
    """People try things out with tokens that count: after a provider's prefix they are taken for real."""
    for token in ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "sk_live_1234567890abcdefghijklmn"):
        assert token not in redact(f"use {token} here")


@pytest.mark.parametrize("form", NAMED)
def test_values_are_known_by_their_name(form: str) -> None:
    """A random value goes wherever a name, a flag or a place says that it is a secret."""
    chance = random.Random(form)
    for length in (16, 20, 24, 32, 40, 64) * 5:
        secret = _some(chance, length)
        assert secret not in redact(form.format(secret))


@pytest.mark.parametrize("password", ["hunter2hunter", "Tr0ub4dor&3", "S3cret!pass", "pa55word99", "correct-horse-77"])
def test_passwords_of_people_go(password: str) -> None:
    """A password need not be random where it is clearly given as one."""
    for form in ("DB_PASSWORD={}", 'password: "{}"', "'passwd': '{}'", "my password is {}", "sshpass -p '{}' ssh a@b"):
        assert password not in redact(form.format(password))


@pytest.mark.parametrize("kind", ["RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED "])
def test_cut_key_blocks_go(kind: str) -> None:
    """A private key goes even if its first or its last lines are missing."""
    chance = random.Random(kind)
    lines = [_base64(chance, 48) for _ in range(6)]
    head, foot = f"-----BEGIN {kind}PRIVATE KEY-----", f"-----END {kind}PRIVATE KEY-----"
    for text in ("\n".join([head, *lines]), "\n".join([*lines, foot, "after"]), "\\n".join(["x: " + head, *lines])):
        clean = redact(text)
        assert not any(line in clean for line in lines)
    encoded = base64.b64encode("\n".join([head, *lines, foot]).encode()).decode()
    assert encoded not in redact(f"client-key-data: {encoded}")


def test_prose_about_key_blocks_stays() -> None:
    """Two mentions of a key's lines do not take the text between them away."""
    text = "It starts with -----BEGIN PRIVATE KEY----- and\nends, some lines later, with -----END PRIVATE KEY-----."
    assert text == redact(text)


def test_public_things_stay() -> None:
    """Commits, UUIDs, digests, images, certificates and fingerprints stay, however many."""
    chance = random.Random(7)
    for _ in range(200):
        text = "\n".join(
            [
                f"commit {_some(chance, 40, HEX)}",
                f"{_some(chance, 7, HEX)}..{_some(chance, 7, HEX)} main -> origin/token-refresh",
                f'"sessionId": "{_uuid(chance)}", "requestId": "req_{_some(chance, 24)}"',
                f"toolu_{_some(chance, 24)} msg_{_some(chance, 24)}",
                f"sha256:{_some(chance, 64, HEX)}  dist/app.tar.gz",
                f'"integrity": "sha512-{_base64(chance, 64)}"',
                f"![logo](data:image/png;base64,{_base64(chance, 400)})",
                f"ssh-ed25519 {_base64(chance, 51)} ada@example.org",
                f"-----BEGIN CERTIFICATE-----\n{_base64(chance, 48)}\n-----END CERTIFICATE-----",
                f"SHA256:{_base64(chance, 32).rstrip('=')} ada@example.org (ED25519)",
                f"docker.io/library/redis@sha256:{_some(chance, 64, HEX)}",
                f"https://example.com/session/{_uuid(chance)}/events?cursor={_some(chance, 20)}",
            ]
        )
        assert text == redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "API_KEY=YOUR_API_KEY",
        "TOKEN=${TOKEN}",
        "password: ${{ secrets.DB_PASSWORD }}",
        "api_key: <your key>",
        "SECRET=xxxxxxxx",
        "apiKey: process.env.API_KEY,",
        'token = os.environ["TOKEN"]',
        "password=getpass.getpass()",
        "const token = await getToken();",
        "password: str",
        "token: string | undefined;",
        "secret: SecretStr = Field(...)",
        "if (password === confirmation) return;",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "headers: { Authorization: `Bearer ${token}` }",
        "postgres://user:password@localhost/db",
        "postgres://${DB_USER}:${DB_PASS}@db/app",
        "mysql -u root -p app",
        "mkdir -p build/out",
        "docker run -p 8080:80 -u 1000:1000 app",
        "curl -u $USER:$PASS https://x.example",
        "existingSecret: app-credentials",
        "secretKeyRef:\n  name: app-secrets\n  key: password",
        '"max_tokens": 4096, "token_type": "bearer"',
        "--- PASS: TestLogin (0.01s)",
        "password: Must be at least 8 characters",
        'placeholder="Enter your password"',
        "git push origin feature/api-key-rotation",
        "KEY_FILE=/etc/ssl/private/server.key",
        "secret: /run/secrets/db",
        "tokenizer: bert-base-uncased",
        "the key is in the vault",
        "public_key = 'AAAAC3NzaC1lZDI1NTE5'",
        "Set-Cookie: theme=dark; Path=/; SameSite=Lax",
        "auth: { provider: 'github' }",
        "type Password = { secret: string; token?: string }",
        "http://localhost:3000/@fs/app",
        "user@example.com:2222",
        "see `getSecret(name)` and `API_TOKEN`",
        "password reset token expires in 15 minutes",
        "Basic authentication is off",
    ],
)
def test_code_and_placeholders_stay(text: str) -> None:
    """References, types, expressions, defaults of fresh servers and talk about secrets are not secrets."""
    assert text == redact(text)


@pytest.mark.parametrize(
    "unit", ["a", "=", "/", "-----BEGIN ", "\\", '"', " ", "token", "key=", "://a:", "eyJ-", "$2", "aB3/"]
)
def test_repetition_is_harmless(unit: str) -> None:
    """Long runs of what the finders look for are read to their end and left as they are."""
    text = unit * (200_000 // len(unit))
    assert text == redact(text)


def test_a_secret_behind_a_long_run_goes() -> None:
    """A secret is found after 200 kB of whatever could confuse the search."""
    secret = "ghp_" + _some(random.Random(1), 36)
    for unit in ("a", "=", "-----BEGIN ", "/", "'", "token: ", "[REDACTED:"):
        clean = redact(unit * (200_000 // len(unit)) + f"\n{secret}\n")
        assert secret not in clean
        assert clean.startswith(unit * 3)


SHARDS = (
    [row["text"] for row in POSITIVES]
    + [row["text"] for row in NEGATIVES]
    + list("=:\"'\\\n{}[]<>-@/ ")
    + [
        "password",
        "token=",
        "[REDACTED:",
        "[REDACTED:token]",
        "key",
        "Bearer ",
        "://u:",
        "İ",
        "\ud800",
        "€",
        "-p",
    ]
)


@given(st.lists(st.one_of(st.sampled_from(SHARDS), st.text(max_size=12)), max_size=8).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    """Whatever the text, the result is a fixed point, and its length says that nothing else was made up."""
    clean = redact(text)
    assert clean == redact(clean)
    left = re.split(r"\[REDACTED:[a-z-]+\]", clean)
    assert all(part in text for part in left)


def test_a_users_own_patterns() -> None:
    """What a user's expression matches goes, its first group if it has one; a wrong one is named and passed over."""
    extra = [r"ACME-\d{6}", r"badge (\w+)", "(", "x*"]
    assert "[REDACTED:custom] and badge [REDACTED:custom] of xx" == redact("ACME-123456 and badge q7z of xx", extra[:3])
    once = redact("ACME-123456 and xx", extra)
    assert once == redact(once, extra)
    assert 1 == len(faults(extra))
    assert "'('" in faults(extra)[0]


def test_an_event_is_clean_in_every_field() -> None:
    """Each field that tells something is redacted, and the id is that of the clean event."""
    secret = "ghp_" + _some(random.Random(2), 36)
    event = Event(
        DECISION,
        f"Use {secret}",
        time="2026-01-01T00:00:00.000Z",
        session="s",
        reason=f"because {secret}",
        alternatives=[f"not {secret}", "none"],
        topic=secret,
        files=[f"a/{secret}"],
        source={"tool": "Bash", "input": secret},
    )
    clean = redact_event(event)
    told = [clean.content, clean.reason, clean.topic, *clean.alternatives, *clean.files, *clean.source.values()]
    assert not any(secret in value for value in told)
    assert clean.id == clean.identity() != event.id
    assert clean == redact_event(clean)


def test_a_clean_event_is_the_same_object() -> None:
    """Nothing is copied where there is nothing to take out, and a foreign id is kept."""
    event = Event(FILE_MODIFIED, "src/token.py", time="2026-01-01T00:00:00.000Z", id="0" * 16)
    assert event is redact_event(event)


def test_a_token_that_was_cut_off_goes() -> None:
    """Where a long content was clipped within a token, its beginning goes, too."""
    start = "ghp_" + _some(random.Random(3), 12)
    assert start not in redact("word " * 300 + start + "…")


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env",
        ".env.local",
        ".env.production",
        "deploy/prod.env",
        ".envrc",
        "server.pem",
        "tls/server.key",
        "id_rsa",
        "/home/ada/.ssh/id_ed25519",
        "C:\\Users\\ada\\.aws\\credentials",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        "credentials",
        "credentials.json",
        "vault.kdbx",
        "cert.p12",
        "a.pfx",
        "key.ppk",
        "app.jks",
        ".git-credentials",
        ".pgpass",
        "secrets.yml",
        "terraform.tfvars",
        "terraform.tfstate",
        ".docker/config.json",
        "/run/secrets/db",
        "service-account-prod.json",
        ".kube/config",
        "config/master.key",
        "ID_RSA",
        "backup.gpg",
        ".htpasswd",
    ],
)
def test_paths_of_secrets(path: str) -> None:
    """Files whose content is a secret are known by their names."""
    assert is_sensitive_path(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        "app/.env.template",
        ".env.dist",
        "id_rsa.pub",
        "src/environment.py",
        "env.d.ts",
        "keys.py",
        "src/credentials.py",
        "secrets.go",
        "docs/secrets.md",
        "keyboard.ts",
        "pem.rs",
        "README.md",
        "config.json",
        "token.py",
        "src/key/index.ts",
        ".github/workflows/ci.yml",
        "tests/test_env.py",
        "shadow.css",
        "monkey.txt",
        "",
    ],
)
def test_paths_of_other_files(path: str) -> None:
    """Samples, public keys and code about secrets are read as any file."""
    assert not is_sensitive_path(path)


def test_the_finders_are_imported_with_the_first_text() -> None:
    """Importing the module alone loads neither the finders nor anything beyond what a hook has anyway."""
    code = "import sys, re; old = set(sys.modules); import cortex_git.events.redact; print(*set(sys.modules) - old)"
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert {"__future__", "cortex_git", "cortex_git.events", "cortex_git.events.redact"} == set(done.stdout.split())


def test_secrets_in_base64_are_taken_out() -> None:
    """C87: a run of base64 with a token or a URL with a password in it goes as a whole; a text without one stays."""
    key = "aws AKIA" + "Q7ZR4TNB2XKM9WVD" + " secret"
    for secret in (key, "postgres://app:h7Gq2zLw9Xr4@db.internal:5432/main"):
        run = base64.b64encode(secret.encode()).decode()
        assert run.rstrip("=") not in (found := redact(f"It came as {run}.")) and "[REDACTED:" in found
    plain = base64.b64encode(b"nothing but a sentence about the weather").decode()
    assert f"It came as {plain}." == redact(f"It came as {plain}.")
