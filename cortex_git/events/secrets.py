"""The table of what secrets look like by themselves: the prefixes that providers give them.

A compact table of our own, since hooks read it and libraries for this take longer to import than a hook may run.
Each row is a kind, the prefixes, and the expression that the rest must match.
"""

from __future__ import annotations

from cortex_git.events.literals import compiled, masked, starts, wordy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex_git.events.literals import Span

_HEX = r"[A-Fa-f0-9]"
_WORD = r"[A-Za-z0-9]"
_NAME = r"[\w-]"
_DOTTED = r"[\w.~=-]"
_BASE64 = r"[A-Za-z0-9+/_=-]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

SHAPES: tuple[tuple[str, str, str], ...] = (
    # Source hosting and packages
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[\w.-]{20,}"),
    ("github-token", "github_pat_", r"\w{20,}"),
    ("gitlab-token", "glpat- gldt- glrt- glrtr- glptt- glft- glimt- glagent- glcbt- gloas- glsoat-", r"[\w.-]{16,}"),
    ("gitlab-token", "GR1348941", rf"{_NAME}{{16,}}"),
    ("bitbucket-token", "ATBB", rf"{_WORD}{{24,}}"),
    ("atlassian-token", "ATATT3 ATCTT3 ATSTT3", rf"{_DOTTED}{{40,}}"),
    ("npm-token", "npm_", rf"{_WORD}{{30,}}"),
    ("pypi-token", "pypi-Ag", rf"{_NAME}{{30,}}"),
    ("package-token", "rubygems_", rf"{_HEX}{{40,}}"),
    ("package-token", "cio", rf"{_WORD}{{32}}(?!{_WORD})"),
    ("package-token", "oy2", rf"[a-z0-9]{{43}}(?!{_WORD})"),
    ("package-token", "CLOJARS_", r"[a-z0-9]{50,}"),
    ("package-token", "AKCp", rf"{_WORD}{{60,}}"),
    ("package-token", "cmVmdGtu", rf"{_WORD}{{48,}}"),
    ("docker-token", "dckr_pat_ dckr_oat_", rf"{_NAME}{{20,}}"),
    # Clouds and hosting
    ("aws-key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws-key", "ABSK", rf"{_BASE64}{{100,}}"),
    ("aws-key", "bedrock-api-key-", rf"{_BASE64}{{40,}}"),
    ("aws-key", "da2-", rf"[a-z0-9]{{26}}(?!{_WORD})"),
    ("aws-key", "amzn.mws.", _UUID),
    ("google-key", "AIza", rf"{_NAME}{{35}}"),
    ("google-token", "ya29.", rf"{_DOTTED}{{20,}}"),
    ("google-token", "AQ.Ab", rf"{_NAME}{{30,}}"),
    ("google-token", "GOCSPX-", rf"{_NAME}{{20,}}"),
    ("google-token", "APA91b", rf"{_NAME}{{100,}}"),
    ("alibaba-key", "LTAI", rf"{_WORD}{{16,26}}(?!{_WORD})"),
    ("tencent-key", "AKID", rf"{_WORD}{{32}}"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{40,}}"),
    ("heroku-token", "HRKU-", rf"{_NAME}{{30,}}"),
    ("fly-token", "fo1_ fm1r_ fm1a_ fm2_", rf"{_BASE64}{{36,}}"),
    ("netlify-token", "nfp_ nfo_ nfc_ nfu_", rf"{_WORD}{{36,}}"),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", rf"{_WORD}{{24,}}"),
    ("vercel-token", "vercel_blob_rw_", rf"{_NAME}{{20,}}"),
    ("render-token", "rnd_", rf"{_WORD}{{24,}}"),
    ("supabase-token", "sbp_ sbp_oauth_", rf"{_HEX}{{40}}"),
    ("supabase-token", "sb_secret_", rf"{_NAME}{{20,}}"),
    ("database-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{30,}"),
    ("database-token", "napi_", rf"{_WORD}{{40,}}"),
    ("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-\d)?"),
    ("cloudflare-key", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{100,}}"),
    ("cloudflare-key", "cfut_ cfat_ cfk_", rf"{_NAME}{{36,}}"),
    ("tailscale-key", "tskey-", rf"{_NAME}{{20,}}"),
    ("vault-token", "hvs. hvb. hvr.", rf"{_NAME}{{20,}}"),
    ("pulumi-token", "pul-", rf"{_HEX}{{40}}"),
    ("doppler-token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", r"[\w.-]{30,}"),
    ("onepassword-token", "ops_eyJ", rf"{_BASE64}{{40,}}"),
    ("prefect-token", "pnu_ pnb_", rf"{_WORD}{{30,}}"),
    # Models
    ("anthropic-key", "sk-ant-", rf"{_NAME}{{16,}}"),
    ("api-key", "sk- csk-", rf"{_NAME}{{20,}}"),
    ("huggingface-token", "hf_ api_org_", rf"{_WORD}{{24,}}"),
    ("groq-key", "gsk_", rf"{_WORD}{{30,}}"),
    ("xai-key", "xai-", rf"{_NAME}{{40,}}"),
    ("replicate-token", "r8_", rf"{_WORD}{{30,}}"),
    ("perplexity-key", "pplx-", rf"{_WORD}{{30,}}"),
    ("fireworks-key", "fw_", rf"{_WORD}{{20,}}"),
    ("nvidia-key", "nvapi-", rf"{_NAME}{{40,}}"),
    ("api-key", "tgp_v1_ tvly- jina_ pcsk_ e2b_ ctx7sk- voyage- bb_live_ gsk- lsv2_ crsr_", r"[\w-]{24,}"),
    ("api-key", "fc-", rf"{_HEX}{{32}}(?!{_WORD})"),
    ("api-key", "pa-", rf"{_NAME}{{40,}}"),
    ("api-key", "sgp_", r"[A-Za-z0-9_]{40,}"),
    # Messages
    ("slack-token", "xoxb- xoxp- xoxa- xoxe- xoxo- xoxr- xoxs- xoxc- xoxd- xoxe. xapp- xwfp-", r"[\w.%-]{10,}"),
    ("sendgrid-key", "SG.", r"[\w-]{16,64}\.[\w-]{16,}"),
    ("mailgun-key", "key-", rf"{_HEX}{{32}}(?!{_WORD})"),
    ("mail-key", "xkeysib- xsmtpsib-", rf"{_NAME}{{40,}}"),
    ("resend-key", "re_", rf"{_WORD}{{6,12}}_{_WORD}{{20,}}"),
    ("twilio-key", "SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    # Money
    ("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", rf"{_WORD}{{10,}}"),
    ("webhook-secret", "whsec_", rf"{_BASE64}{{20,}}"),
    ("square-token", "sq0atp- sq0csp- sq0idp- EAAAE", rf"{_NAME}{{22,}}"),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_", rf"{_WORD}{{32,}}"),
    ("paypal-token", "access_token$production$ access_token$sandbox$", rf"{_WORD}{{16}}\${_HEX}{{32}}"),
    ("plaid-token", "access-sandbox- access-development- access-production-", _UUID),
    ("payment-key", "FLWSECK_TEST- FLWSECK-", rf"{_NAME}{{12,}}"),
    ("payment-key", "shippo_live_ shippo_test_ duffel_live_ duffel_test_ EZAK EZTK", rf"{_NAME}{{14,}}"),
    # Work and watching
    ("notion-token", "ntn_ secret_", rf"{_WORD}{{40,}}"),
    ("linear-key", "lin_api_ lin_oauth_ lin_wh_", rf"{_WORD}{{32,}}"),
    ("figma-token", "figd_ figo_ figoh_ figu_ figor_", rf"{_NAME}{{30,}}"),
    ("airtable-token", "pat", rf"{_WORD}{{14}}\.{_HEX}{{64}}"),
    ("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    ("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("contentful-token", "CFPAT-", rf"{_NAME}{{40,}}"),
    ("typeform-token", "tfp_", rf"{_DOTTED}{{40,}}"),
    ("clickup-token", "pk_", r"\d{6,10}_[A-Z0-9]{32}"),
    ("trello-token", "ATTA", rf"{_HEX}{{60,}}"),
    ("dropbox-token", "sl.", rf"{_NAME}{{60,}}"),
    ("readme-key", "rdme_", r"[a-z0-9]{60,}"),
    ("grafana-token", "glc_ glsa_", r"[\w+/=]{30,}"),
    ("grafana-token", "eyJrIjoi", rf"{_BASE64}{{60,}}"),
    ("sentry-token", "sntrys_ sntryu_ sntrya_", r"[\w+/=.-]{40,}"),
    ("newrelic-key", "NRAK- NRII- NRRA- NRIQ- NRSP-", rf"{_NAME}{{24,}}"),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s02. dt0s16.", r"[A-Z0-9]{20,40}\.[A-Z0-9]{60,}"),
    ("posthog-key", "phx_", rf"{_WORD}{{30,}}"),
    ("honeycomb-key", "hcaik_ hcbik_ hcxik_ hcxlk_", rf"{_WORD}{{40,}}"),
    ("launchdarkly-key", "sdk- api-", _UUID),
    ("sonar-token", "sqp_ squ_ sqa_", rf"{_HEX}{{40}}"),
    ("ci-token", "CCIPAT_ CCIPRJ_ bkua_ bkaj_ bkct_", rf"{_NAME}{{30,}}"),
    ("octopus-key", "API-", rf"[A-Z0-9]{{26}}(?!{_WORD})"),
    ("wakatime-key", "waka_", _UUID),
    # Social
    ("facebook-token", "EAACE EAAB EAAC EAAD EAAG EAAM", rf"{_WORD}{{60,}}"),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"(?=\w{1,100}%)[\w%]{50,}"),
    ("mapbox-token", "sk.eyJ", r"[\w.-]{40,}"),
    # Keys by form
    ("jwt", "eyJ", r"[\w-]{8,2000}\.(?:[\w-]{8,}(?:\.[\w-]*){0,4}|\.[\w-]{8,}(?:\.[\w-]*){0,3})"),
    ("age-key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", r"[A-Z0-9-]{20,}"),
    ("wallet-key", "xprv yprv zprv tprv", r"[1-9A-HJ-NP-Za-km-z]{90,}"),
)

FORMS: tuple[tuple[str, str, str], ...] = (
    # What has no prefix of its own: a text inside it that is rare elsewhere, then the whole expression.
    ("google-token", "1//0", rf"1//0{_NAME}{{30,}}"),
    ("aws-key", "AKIA", r"(?<![\w+/])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])[A-Za-z0-9+/]{40}(?![\w+/=])"),
    ("password-hash", "$2", r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"),
    ("password-hash", "$6$", r"\$6\$[./A-Za-z0-9=$]{40,}"),
    ("password-hash", "$argon2", r"\$argon2(?:id?|d)\$[\w./+=,$-]{40,}"),
    ("telegram-token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{30,40}"),
    ("azure-secret", "Q~", r"[\w~.]{3}[78]Q~[\w~.-]{30,36}"),
    ("mailgun-key", "mailgun", r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    ("asana-token", "asana", r"(?<![\w/])[012]/\d{14,18}(?:/\d{14,18})?:[0-9a-f]{32}(?!\w)"),
)
HOOKS: tuple[tuple[str, str, str], ...] = (
    ("slack-webhook", "hooks.slack.com/", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{20,}"),
    ("discord-webhook", "/api/webhooks/", r"(?<=/api/webhooks/)\d{15,22}/[\w-]{30,}"),
    ("teams-webhook", ".webhook.office.com/", r"(?<=\.webhook\.office\.com/)webhookb2/[\w@/-]{40,}"),
    ("webhook", "hooks.zapier.com/", r"(?<=hooks\.zapier\.com/hooks/catch/)[\w/-]{12,}"),
)
"""Addresses that let whoever knows them write; compared only where there is a `hook`."""
INNER: tuple[tuple[str, str, str], ...] = (
    ("azure-key", "JQQJ99", rf"{_WORD}{{20,60}}JQQJ99{_WORD}{{20,}}"),
    ("terraform-token", ".atlasv1.", rf"{_WORD}{{14}}\.atlasv1\.{_NAME}{{50,}}"),
    ("mailchimp-key", "-us", r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?![\w-])"),
    ("api-key", "live_", r"(?<![A-Za-z0-9])[a-z][a-z0-9]{1,11}(?:_[a-z0-9]{1,8}){0,2}_live_[A-Za-z0-9]{16,}"),
    ("api-key", "secret_", r"(?<![A-Za-z0-9])[a-z][a-z0-9]{1,11}_secret_[A-Za-z0-9]{20,}"),
)
"""The same, of token characters only."""
LONG = (("discord-token", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),)
"""Forms without even that, compared with each long run of token characters."""

_RUN = 14
_TOKEN = bytes(97 if (chr(code).isalnum() and code < 128) or chr(code) in "_-." else 32 for code in range(256))


def shapes(text: str, raw: bytes) -> Iterator[Span]:
    """What is a secret by its own form. `raw` is the text, one byte a character."""
    runs = {text[start:end] for start, end in _runs(text, raw)}
    joined = " ".join(runs)
    if joined:
        for kind, prefixes, rest in SHAPES:
            for prefix in prefixes.split():
                if prefix in joined:
                    yield from _prefixed(text, prefix, rest, kind)
        for kind, part, whole in INNER:
            if part in joined:
                yield from _formed(text, part, whole, kind)
    for kind, part, whole in (*FORMS, *HOOKS) if b"hook" in raw else FORMS:
        yield from _formed(text, part, whole, kind)
    for run in runs:
        for kind, whole in LONG:
            if len(run) > 54 and (found := compiled(whole).search(run)):
                at = text.index(run)
                yield at + found.start(), at + found.end(), kind
    if len(text) > 1000 and text.endswith("…"):
        yield from _cut(text)


def _runs(text: str, raw: bytes) -> Iterator[tuple[int, int]]:
    """Where so many characters stand together that they could be a token: digits among them, or long."""
    marked = raw.translate(_TOKEN)
    run = b"a" * _RUN
    start = marked.find(run)
    while start >= 0:
        end = marked.find(b" ", start)
        end = len(marked) if end < 0 else end
        if compiled(r"[0-9]").search(text, start, end) or (end - start > 19 and not raw[start:end].islower()):
            yield start, end
        start = marked.find(run, end)


def _prefixed(text: str, prefix: str, rest: str, kind: str) -> Iterator[Span]:
    at = text.find(prefix)
    while at >= 0:
        end = at + len(prefix)
        found = compiled(rest).match(text, end) if len(prefix) > 7 or starts(text, at) else None
        if found:
            end = found.end()
            if not _pictured(prefix, found[0][:256]):
                yield at, end, kind
        at = text.find(prefix, end)


def _pictured(prefix: str, rest: str) -> bool:
    """Whether a token is only the picture of one. Short prefixes also begin words."""
    if masked(rest):
        return True
    numbered = compiled(r"[0-9]{9,}-").match(rest)  # the number of an account, which no name starts with
    return not numbered and (len(prefix) <= 3 or not rest.isalnum()) and wordy(rest)


def _formed(text: str, part: str, whole: str, kind: str) -> Iterator[Span]:
    at = text.find(part)
    while at >= 0:
        for found in compiled(whole).finditer(text, max(0, at - 100), at + 140):
            if not masked(found[0]) and not wordy(found[0]):
                yield (*found.span(), kind)
        at = text.find(part, at + 100)


def _cut(text: str) -> Iterator[Span]:
    """The beginning of a token where a long text was cut off."""
    tail = text[-300:]
    for kind, prefixes, _ in SHAPES:
        for prefix in prefixes.split():
            at = tail.rfind(prefix) if len(prefix) > 2 else -1
            if at >= 0 and starts(tail, at) and compiled(r"[\w.+/=-]{4,}…").fullmatch(tail, at + len(prefix)):
                yield len(text) - len(tail) + at, len(text) - 1, kind
