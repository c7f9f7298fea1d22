"""The guarded client against real servers that misbehave, and the addresses it refuses to call."""

import asyncio
import datetime
import gzip
import ipaddress
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from common.addresses import forbidden_kind
from common.errors import AgentInvalidResponse, AgentTimeout, AgentUnreachable, FixieError, InvalidRequest
from common.http import Answer, GuardedClient, check_address, check_url
from tests.agents import ScriptedAgent, answer, chunks, drip, hang, raw, redirect

LIMIT = 100_000


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[GuardedClient]:
    guarded = GuardedClient(allow_private=True)
    yield guarded
    await guarded.aclose()


async def get(client: GuardedClient, url: str, **options: Any) -> Answer:
    return await client.request("GET", url, **{"timeout": 0.4, "max_bytes": LIMIT, **options})


async def post(client: GuardedClient, url: str, **options: Any) -> Answer:
    headers = options.pop("headers", {"idempotency-key": "run/1"})
    options = {"timeout": 0.4, "max_bytes": LIMIT, "content": b"{}", **options}
    return await client.request("POST", url, headers=headers, **options)


# URLs


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8181",
        "https://agents.example/dice?key=1",
        "https://bücher.example/",
        "http://[::1]:8080/",
        "HTTP://Agent.Example:8000/x",
        "http://some_host/",
    ],
)
def test_a_web_address_may_be_registered(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "agents.example",
        "ftp://agents.example",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://user:password@agents.example",
        "http://user@agents.example",
        "http://agents.example/#part",
        "http://agents.example/#",
        "http://agents.example/a b",
        " http://agents.example",
        "http://agents.example/\n",
        "http://agents.example\\@evil.example",
        "http://agents.example:0",
        "http://agents.example:22",
        "http://agents.example:99999",
        "http://agents.example:port",
        "http://agents..example",
        "http://-agents.example",
        "http://exa%6dple.com",
        "http://☃.example",
        "http://[::1%25eth0]/",
        "http://[::1",
        f"http://agents.example/{'x' * 2000}",
    ],
)
def test_other_urls_are_refused_naming_the_field(url: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        check_url(url)
    assert error.value.details["field"] == "url"


async def test_an_address_whose_name_leads_to_this_machine_is_refused_at_registration(settings: Any) -> None:
    settings.AGENT_URL_ALLOW_PRIVATE = False
    for url in ("http://localhost:8000", "http://127.0.0.1", "http://2130706433", "http://0x7f.1", "http://[::1]"):
        with pytest.raises(InvalidRequest) as error:
            await check_address(url)
        assert error.value.details == {"field": "url"}
        assert "loopback" in error.value.message


async def test_an_address_of_this_machine_may_be_registered_where_private_ones_are_allowed(settings: Any) -> None:
    settings.AGENT_URL_ALLOW_PRIVATE = True
    await check_address("http://localhost:8000")


async def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    with pytest.raises(AgentUnreachable) as error:
        await check_address("http://nowhere.invalid")
    assert error.value.details["reason"] == "dns"


# Addresses


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_public_addresses_are_called(address: str) -> None:
    assert forbidden_kind(ipaddress.ip_address(address), allow_private=False) is None


@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.1.1", "172.16.0.1", "192.168.0.1"),
        *("192.0.0.8", "192.0.2.1", "198.18.0.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fc00::1", "fd12::1", "fec0::1", "2001:db8::1", "3fff::1", "100::1"),
        *("::ffff:8.8.8.8", "::ffff:127.0.0.1", "::127.0.0.1", "2002:7f00:1::", "2002:808:808::"),
        *("64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "2001:0:7f00:1::"),
    ],
)
def test_addresses_that_are_not_public_are_forbidden_unless_private_ones_are_allowed(address: str) -> None:
    assert forbidden_kind(ipaddress.ip_address(address), allow_private=False) is not None
    assert forbidden_kind(ipaddress.ip_address(address), allow_private=True) is None


@pytest.mark.parametrize(
    "address",
    [
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"),
        *("224.0.0.1", "239.1.2.3", "ff02::1", "::ffff:224.0.0.1"),
    ],
)
def test_metadata_services_and_multicast_are_always_forbidden(address: str) -> None:
    assert forbidden_kind(ipaddress.ip_address(address), allow_private=True) is not None


Resolver = Callable[[str, list[str]], list[str]]


@pytest.fixture
async def resolver(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names of our own: host → addresses, of which the second look-up finds none."""
    names: dict[str, list[str]] = {}

    async def look_up(host: str, port: int, **options: Any) -> list[Any]:
        addresses = names.pop(host, None)
        if addresses is None:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    return names


async def test_the_address_that_was_checked_is_the_one_connected_to(
    agent: ScriptedAgent, client: GuardedClient, resolver: dict[str, list[str]]
) -> None:
    agent.on("/", answer({}), method="GET")
    resolver["agent.example"] = ["127.0.0.1"]
    answered = await get(client, f"http://agent.example:{agent.port}/")
    assert answered.status == 200
    assert agent.requests[0].headers["host"] == f"agent.example:{agent.port}"


async def test_one_forbidden_address_among_a_names_addresses_is_enough_to_refuse(
    agent: ScriptedAgent, resolver: dict[str, list[str]]
) -> None:
    resolver["agent.example"] = ["8.8.8.8", "127.0.0.1"]
    with pytest.raises(AgentUnreachable) as error:
        await get(GuardedClient(allow_private=False), f"http://agent.example:{agent.port}/")
    assert error.value.details["reason"] == "forbidden"
    assert "127.0.0.1" not in error.value.message
    assert not error.value.retryable
    assert agent.connections == 0


async def test_an_address_that_refuses_is_passed_over_for_the_next_one(
    agent: ScriptedAgent, client: GuardedClient, resolver: dict[str, list[str]]
) -> None:
    agent.on("/", answer({}), method="GET")
    resolver["agent.example"] = ["127.0.0.2", "127.0.0.1"]
    assert (await get(client, f"http://agent.example:{agent.port}/")).status == 200


# Redirects


async def test_a_get_follows_redirects_and_keeps_the_token_on_the_same_site(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", redirect("/a"), method="GET")
    agent.on("/a", redirect("b"), method="GET")
    agent.on("/b", answer({"here": True}), method="GET")
    answered = await get(client, f"{agent.url}/", headers={"authorization": "Bearer t"})
    assert answered.body == b'{"here": true}'
    assert [request.headers.get("authorization") for request in agent.requests] == ["Bearer t"] * 3


async def test_a_redirect_that_is_not_to_be_followed_is_the_answer(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", redirect("/a"), method="GET")
    async with client.stream("GET", f"{agent.url}/", timeout=5, max_bytes=1000, follow=False) as response:
        assert response.status == 302
        assert response.headers["location"] == "/a"
    assert [request.path for request in agent.requests] == ["/"]


async def test_a_redirect_to_another_site_does_not_get_the_token(agent: ScriptedAgent, client: GuardedClient) -> None:
    with ScriptedAgent() as other:
        other.on("/", answer({}), method="GET")
        agent.on("/", redirect(f"{other.url}/"), method="GET")
        await get(client, f"{agent.url}/", headers={"authorization": "Bearer t"})
        assert "authorization" not in other.requests[0].headers


async def test_a_redirect_to_a_forbidden_address_is_not_followed(agent: ScriptedAgent, client: GuardedClient) -> None:
    for location in ("http://169.254.169.254/latest", "http://user:pw@127.0.0.1/", "file:///etc/passwd"):
        agent.on("/", redirect(location), method="GET")
        with pytest.raises(FixieError) as error:
            await get(client, f"{agent.url}/")
        assert isinstance(error.value, AgentUnreachable | AgentInvalidResponse)


async def test_a_fourth_redirect_is_an_error(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", redirect("/"), method="GET")
    with pytest.raises(AgentInvalidResponse, match="more than 3 times"):
        await get(client, f"{agent.url}/")
    assert len(agent.requests) == 4


async def test_a_redirected_post_is_an_error(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", redirect("/there", status=307))
    with pytest.raises(AgentInvalidResponse, match="/there"):
        await post(client, f"{agent.url}/")
    assert len(agent.requests) == 1


# Time and size


@pytest.mark.parametrize("behaviour", [hang(), drip(), chunks(b"x", end=False)])
async def test_the_whole_exchange_ends_with_its_time(
    agent: ScriptedAgent, client: GuardedClient, behaviour: Any
) -> None:
    agent.on("/", behaviour)
    started = time.monotonic()
    with pytest.raises(AgentTimeout):
        await post(client, f"{agent.url}/", timeout=0.2)
    assert time.monotonic() - started < 0.4
    assert await agent.saw_client_leave()


async def test_time_the_caller_takes_for_itself_is_not_interrupted(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", chunks(b"one", b"two", delay=0.01))
    async with client.stream("POST", f"{agent.url}/", timeout=0.1, max_bytes=LIMIT) as response:
        first = await anext(response)
        await asyncio.sleep(0.15)
        assert first == b"one"
        with pytest.raises(AgentTimeout):
            [piece async for piece in response]


async def test_a_body_over_the_limit_is_not_read_to_its_end(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", drip(b"x" * 10_000, delay=0))
    with pytest.raises(AgentInvalidResponse) as error:
        await post(client, f"{agent.url}/")
    assert error.value.details["max_bytes"] == LIMIT


async def test_a_small_body_that_decompresses_to_a_large_one_is_refused(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * 50_000_000))
    agent.on("/", answer(body=bomb, headers={"content-encoding": "gzip, gzip"}))
    with pytest.raises(AgentInvalidResponse, match="larger"):
        await post(client, f"{agent.url}/")


async def test_a_compressed_body_is_decompressed(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", answer(body=gzip.compress(b"hello"), headers={"content-encoding": "gzip"}))
    assert (await post(client, f"{agent.url}/")).body == b"hello"


async def test_a_body_that_is_not_compressed_as_it_says_is_an_invalid_answer(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", answer(body=b"hello", headers={"content-encoding": "gzip"}))
    with pytest.raises(AgentInvalidResponse):
        await post(client, f"{agent.url}/")


# Bad HTTP


@pytest.mark.parametrize(
    "data",
    [
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,
    ],
)
async def test_bad_http_is_an_invalid_answer_and_a_later_call_works(
    agent: ScriptedAgent, client: GuardedClient, data: bytes
) -> None:
    agent.on("/", raw(data), answer({}))
    with pytest.raises(AgentInvalidResponse):
        await post(client, f"{agent.url}/")
    assert (await post(client, f"{agent.url}/")).status == 200


async def test_a_connection_closed_without_an_answer_is_not_tried_again(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", raw())
    with pytest.raises(AgentUnreachable) as error:
        await post(client, f"{agent.url}/")
    assert error.value.details["reason"] == "closed"
    assert len(agent.requests) == 1


async def test_a_port_nobody_listens_on_refuses(client: GuardedClient) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        with pytest.raises(AgentUnreachable) as error:
            await get(client, f"http://127.0.0.1:{held.getsockname()[1]}/")
    assert error.value.details["reason"] == "refused"


# Connections


async def test_connections_are_kept_and_no_cookie_is(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", answer({}, headers={"set-cookie": "a=b; Path=/"}))
    for _ in range(3):
        await post(client, f"{agent.url}/")
    assert agent.connections == 1
    assert all("cookie" not in request.headers for request in agent.requests)


async def test_an_idle_connection_that_the_agent_closed_does_not_fail_the_next_call(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", answer({}))
    await post(client, f"{agent.url}/")
    agent.drop_idle()
    assert (await post(client, f"{agent.url}/")).status == 200


async def test_a_kept_connection_that_dies_under_a_call_is_replaced_once_if_the_call_may_be_made_again(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", answer({}), raw(), answer({"again": True}))
    await post(client, f"{agent.url}/")
    assert (await post(client, f"{agent.url}/")).body == b'{"again": true}'
    keys = [request.headers["idempotency-key"] for request in agent.requests]
    assert keys == ["run/1"] * 3


async def test_a_kept_connection_that_dies_under_a_call_without_a_key_is_an_error(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", answer({}), raw(), answer({}))
    await post(client, f"{agent.url}/", headers={})
    with pytest.raises(AgentUnreachable):
        await post(client, f"{agent.url}/", headers={})
    assert len(agent.requests) == 2


async def test_a_kept_connection_that_dies_after_the_first_byte_is_an_error(
    agent: ScriptedAgent, client: GuardedClient
) -> None:
    agent.on("/", answer({}), raw(b"HTTP/1.1 2"), answer({}))
    await post(client, f"{agent.url}/")
    with pytest.raises(AgentInvalidResponse):
        await post(client, f"{agent.url}/")
    assert len(agent.requests) == 2


async def test_leaving_a_stream_early_closes_the_connection(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", drip())
    async with client.stream("POST", f"{agent.url}/", timeout=5, max_bytes=LIMIT) as response:
        await anext(response)
    assert await agent.saw_client_leave()


async def test_cancelling_a_call_closes_the_connection(agent: ScriptedAgent, client: GuardedClient) -> None:
    agent.on("/", hang())
    call = asyncio.create_task(post(client, f"{agent.url}/", timeout=5))
    await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await agent.saw_client_leave()


async def test_a_proxy_in_the_environment_is_not_used(
    agent: ScriptedAgent, client: GuardedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    agent.on("/", answer({}))
    assert (await post(client, f"{agent.url}/")).status == 200


# TLS


def contexts(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's TLS with a certificate for `name`, and a client's that trusts it alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "agent.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cadata=certificate.public_bytes(serialization.Encoding.PEM).decode())


async def test_tls_is_verified_against_the_name_though_the_connection_goes_to_an_address(
    tmp_path: Path, resolver: dict[str, list[str]]
) -> None:
    server, trusting = contexts(tmp_path, "agent.example")
    names: list[str | None] = []
    server.sni_callback = lambda connection, name, context: names.append(name)
    guarded = GuardedClient(allow_private=True, tls=trusting)
    with ScriptedAgent(tls=server) as agent:
        agent.on("/", answer({}))
        resolver["agent.example"] = resolver["other.example"] = ["127.0.0.1"]
        assert (await post(guarded, f"https://agent.example:{agent.port}/")).status == 200
        with pytest.raises(AgentUnreachable, match="certificate") as error:
            await post(guarded, f"https://other.example:{agent.port}/")
    assert error.value.details["reason"] == "tls"
    assert names == ["agent.example", "other.example"]
    await guarded.aclose()


async def test_plain_http_behind_https_is_told_apart(client: GuardedClient) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(AgentUnreachable) as error:
            await post(client, f"https://127.0.0.1:{port}/")
    assert error.value.details["reason"] == "tls"
