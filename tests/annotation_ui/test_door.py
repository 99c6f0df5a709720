"""The pages outside the door over HTTP: forms, cookies, redirects, refusals; and where the studio listens."""

import re
import shutil
import socket

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg

from annotation_ui.auth import Auth
from annotation_ui.auth_routes import AuthRoutes
from annotation_ui.server import Door, PlaceUnusable, PortBusy, listen
from annotation_ui.studio import open_studio

PASSWORD = "correct horse battery"
HTML = {"Accept": "text/html"}


@pytest.fixture
def client(studio, auth):
    async def talk(socket):
        await socket.accept()
        await socket.send_text("inside")
        async for data in socket.iter_bytes():
            await socket.send_bytes(data)

    inside = Route("/{path:path}", lambda request: HTMLResponse("inside"), methods=["GET", "PUT"])
    app = Starlette(
        routes=[*AuthRoutes(studio, auth).routes(), WebSocketRoute("/_stcore/stream", talk), inside],
        middleware=[Middleware(Door, auth=auth, cookie_name=studio.cookie_name)],
    )
    return TestClient(app, base_url="http://studio.test", follow_redirects=False)


def enter(client, name="reviewer", password=PASSWORD, **form):
    return client.post("/auth/sign-in", data={"name": name, "password": password, **form})


def test_nobody_is_sent_to_sign_in_and_back_to_where_they_wanted(client, people):
    sent = client.get("/items?item=a%20b", headers=HTML)
    assert sent.status_code == 303
    form = client.get(sent.headers["location"])
    onward = re.search(r'name="next" value="([^"]*)"', form.text).group(1)
    assert onward == "/items?item=a%20b"
    assert enter(client, next=onward).headers["location"] == onward
    assert client.get(onward, headers=HTML).text == "inside"


def test_sockets_and_uploads_are_closed_to_who_is_not_signed_in(client, people):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://studio.test/_stcore/stream"):
        pass
    assert client.put("/_stcore/upload_file/a/b", content=b"x").status_code == 403
    assert client.get("/media/0a1b.csv").status_code == 403
    enter(client)
    with client.websocket_connect("ws://studio.test/_stcore/stream") as socket:
        assert socket.receive_text() == "inside"
    assert client.put("/_stcore/upload_file/a/b", content=b"x").text == "inside"
    assert client.get("/media/0a1b.csv").text == "inside"


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client, people, studio):
    cookie = enter(client).headers["set-cookie"]
    assert cookie.startswith(f"{studio.cookie_name}=")
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    secure = TestClient(client.app, base_url="https://studio.test", follow_redirects=False)
    assert "Secure" in enter(secure).headers["set-cookie"]


def test_a_message_through_a_socket_whose_session_has_ended_does_nothing_but_draw_anew(client, people, auth, studio):
    """Clicks come through a socket that was opened before, and callbacks run before a page asks who is there."""
    sent = BackMsg()
    sent.rerun_script.page_script_hash = "items"
    sent.rerun_script.widget_states.widgets.add(id="drop it", trigger_value=True)
    enter(client)
    with client.websocket_connect("ws://studio.test/_stcore/stream") as socket:
        assert socket.receive_text() == "inside"
        socket.send_bytes(sent.SerializeToString())
        assert BackMsg.FromString(socket.receive_bytes()) == sent
        auth.sign_out(client.cookies[studio.cookie_name])
        socket.send_bytes(sent.SerializeToString())
        arrived = BackMsg.FromString(socket.receive_bytes())
        assert arrived.rerun_script.page_script_hash == "items" and not arrived.rerun_script.widget_states.widgets


FOREIGN_ORIGINS = [
    "https://evil.test",
    "http://studio.test:9000",  # another program of the same machine
    "http://localhost",
    "http://127.0.0.1:8501",
    "http://studio.test.evil.test",
    "null",
    "",
]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_page_of_another_site_opens_no_socket_with_the_visitors_cookie(client, people, origin):
    """Streamlit itself lets in every page that this machine serves."""
    enter(client)
    own = {"Origin": "http://studio.test"}
    with client.websocket_connect("ws://studio.test/_stcore/stream", headers=own) as socket:
        assert socket.receive_text() == "inside"
    address, foreign = "ws://studio.test/_stcore/stream", {"Origin": origin}
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(address, headers=foreign):
        pass


def test_headers_of_proxies_are_not_believed(client, people):
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.test", "Origin": "https://evil.test"}
    answer = client.post("/auth/sign-in", data={"name": "reviewer", "password": PASSWORD}, headers=forged)
    assert answer.status_code == 400 and "not sent from this studio" in answer.text


def test_behind_a_proxy_the_settings_tell_what_browsers_see(tmp_path, new_project, clock):
    shutil.copytree(new_project, tmp_path / "behind")
    file = tmp_path / "behind" / "interplay.toml"
    file.write_text(f'studio_url = "https://studio.example.org"\n{file.read_text()}')
    with open_studio(tmp_path / "behind", clock) as studio:
        auth = Auth(studio.workspace.database, studio.key, clock)
        app = Starlette(routes=AuthRoutes(studio, auth).routes())
        inner = TestClient(app, base_url="http://10.0.0.7:8501", follow_redirects=False)
        form = {"name": "ada", "password": PASSWORD, "repeated": PASSWORD}
        answer = inner.post(
            f"/auth/link/{auth.first_link()}", data=form, headers={"Origin": "https://studio.example.org"}
        )
        assert answer.status_code == 303 and "Secure" in answer.headers["set-cookie"]


def test_signing_in_takes_up_no_token_that_the_browser_brought(client, people, studio, auth):
    """Else one could plant a token, and be inside once its victim signs in."""
    answer = client.post(
        "/auth/sign-in",
        data={"name": "reviewer", "password": PASSWORD},
        headers={"Cookie": f"{studio.cookie_name}=planted"},
    )
    token = re.match(f"{studio.cookie_name}=([^;]+)", answer.headers["set-cookie"]).group(1)
    assert token != "planted" and auth.principal("planted") is None
    assert auth.principal(token).name == "reviewer"


def test_a_wrong_password_says_so_and_sets_no_cookie(client, people):
    answer = enter(client, password="wrong")
    assert answer.status_code == 400
    assert "is not right" in answer.text and 'value="reviewer"' in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "onward",
    ["https://evil.test/", "//evil.test", "/\\evil.test", "\\\\evil.test", "javascript:alert(1)", "", "/a\r\nX: y"],
)
def test_signing_in_leads_to_no_other_site(client, people, onward):
    assert enter(client, next=onward).headers["location"] == "/"


def test_forms_from_other_sites_are_refused(client, people, studio):
    foreign = {"Origin": "https://evil.test"}
    answer = client.post("/auth/sign-in", data={"name": "reviewer", "password": PASSWORD}, headers=foreign)
    assert answer.status_code == 400 and "set-cookie" not in answer.headers
    enter(client)
    client.post("/auth/sign-out", headers=foreign)
    assert client.get("/", headers=HTML).status_code == 200  # still signed in


def test_signing_out_ends_the_session_in_the_database(client, people, studio):
    enter(client)
    stolen = client.cookies[studio.cookie_name]
    assert (
        client.post("/auth/sign-out", headers={"Origin": "http://studio.test"}).headers["location"] == "/auth/sign-in"
    )
    client.cookies.set(studio.cookie_name, stolen)
    assert client.get("/", headers=HTML).status_code == 303


def test_signing_out_by_a_link_is_not_possible(client, people):
    enter(client)
    assert client.get("/auth/sign-out").status_code in {200, 405}
    assert client.get("/", headers=HTML).text == "inside"


def test_the_first_link_leads_into_the_studio(client, auth):
    path = f"/auth/link/{auth.first_link()}"
    assert "You are the first here" in client.get(path).text
    form = {"name": "ada", "display_name": "Ada", "password": PASSWORD, "repeated": PASSWORD}
    for spoilt, said in (
        ({"repeated": "other"}, "not the same"),
        ({"password": "short", "repeated": "short"}, "at least 10"),
        ({"name": "two words"}, "sign-in name"),
    ):
        answer = client.post(path, data=form | spoilt)
        assert answer.status_code == 400 and said in answer.text
    assert client.post(path, data=form).headers["location"] == "/"
    assert client.get("/", headers=HTML).text == "inside"
    assert "used already" in client.get(path).text
    for changed in ({}, {"repeated": "other"}, {"name": "two words"}):
        assert "used already" in client.post(path, data=form | changed).text


def test_what_is_typed_comes_back_as_text(client, people, auth):
    attack = '"><script>alert(1)</script>'
    answers = [
        enter(client, name=attack, next=f"/{attack}").text,
        client.get("/auth/sign-in", params={"next": f"/{attack}"}).text,
        client.get("/auth/sign-in", params={"lang": attack}).text,
    ]
    assert not any("<script" in text for text in answers)


def test_the_door_speaks_the_readers_language_and_remembers_it(client):
    assert "登录" in client.get("/auth/sign-in", headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}).text
    assert "Sign in" in client.get("/auth/sign-in", headers={"Accept-Language": "de"}).text
    assert '<html lang="zh">' in client.get("/auth/sign-in?lang=zh").text
    assert '<html lang="zh">' in client.get("/auth/sign-in").text


def test_pages_carry_the_headers_that_guard_them(client, people):
    enter(client)
    headers = client.get("/", headers=HTML).headers
    assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
    door = client.get("/auth/link/x").headers
    assert "frame-ancestors 'none'" in door["content-security-policy"] and door["cache-control"] == "no-store"


def test_a_named_port_that_is_busy_is_said_with_the_mend():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortBusy, match=f"port {port} is busy.*--port"):
            listen("127.0.0.1", port)


def test_without_a_named_port_the_next_free_one_is_taken(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        monkeypatch.setattr("annotation_ui.server.DEFAULT_PORT", busy)
        with listen("127.0.0.1", None) as found:
            assert busy < found.getsockname()[1] < busy + 20


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(PlaceUnusable, match="--host"):
        listen("192.0.2.1", 0)
