#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast serve and what it must refuse: bad input, strangers, slow clients; its settings.

  serve_input_test.py PROGRAM [test names]
"""

import json
import re
import resource
import signal
import socket
import subprocess
from pathlib import Path

import ground
from ground import holdfast, wait_until
from push_client import Service, Viewer

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-some-length"
SECRET = "a-secret-of-some-length"


class ServeInput(ground.Case):
    def service(self, *words, **changes):
        made = Service(*words, **changes)
        self.addCleanup(made.close)
        return made

    def viewer(self, *words, **more):
        made = Viewer(*words, **more)
        self.addCleanup(made.close)
        return made

    def test_what_is_no_post_is_refused_with_a_reason_and_nothing_is_stored(self):
        service = self.service()
        good = {"roomId": "r", "userId": 1, "messages": [{"content": "x"}]}
        cases = [
            ("not json", 400, "bad_json"),
            ("[1]", 400, "wrong_type"),
            ('{"roomId":"r","userId":1,"messages":' + "[" * 50 + "]" * 50 + "}", 400, "too_deep"),
            ({**good, "roomId": 5}, 400, "wrong_type"),
            ({**good, "userId": 1.5}, 400, "wrong_type"),
            ({**good, "userId": True}, 400, "wrong_type"),
            ({**good, "messages": {}}, 400, "wrong_type"),
            ({**good, "messages": ["x"]}, 400, "wrong_type"),
            ({**good, "messages": [{"content": 5}]}, 400, "wrong_type"),
            ({**good, "messages": [{"content": "x", "important": "yes"}]}, 400, "wrong_type"),
            ({"userId": 1, "messages": [{"content": "x"}]}, 400, "missing_field"),
            ({"roomId": "r", "messages": [{"content": "x"}]}, 400, "missing_field"),
            ({"roomId": "r", "userId": 1}, 400, "missing_field"),
            ({**good, "messages": [{}]}, 400, "missing_field"),
            ({**good, "messages": []}, 422, "messages_missing"),
            ({**good, "roomId": ""}, 422, "room_missing"),
            ({**good, "roomId": "a b"}, 422, "room_characters"),
            ({**good, "roomId": "x" * 200}, 422, "room_too_long"),
            ({**good, "messages": [{"content": "x" * 5000}]}, 422, "content_too_long"),
            ({**good, "messages": [{"content": "x"}] * 101}, 422, "too_many_messages"),
            ({**good, "messages": [{"content": "x" * 4000}] * 30}, 413, "body_too_large"),
        ]
        for body, status, reason in cases:
            text = body if isinstance(body, str) else json.dumps(body)
            with self.subTest(text[:60]):
                got, answer = service.curl("logic/send", "-d", text)
                problem = json.loads(answer)
                self.assertEqual((got, problem["status"], problem["reason"]),
                                 (status, status, reason))
                self.assertTrue(problem["type"].endswith(":" + reason))
                self.assertTrue(problem["detail"])
        self.assertEqual(service.curl("logic/rooms"), (200, '{"rooms":[]}'))
        self.assertEqual(service.curl("logic/send")[0], 405)
        self.assertEqual(service.curl("nowhere")[0], 404)
        self.assertEqual(service.curl("logic/rooms/r/history?limit=x")[0], 400)

    def test_ids_are_required_where_a_rule_says_so(self):
        service = self.service("--rule", "chat_*:require_ids=on")
        status, answer = service.send("chat_1", "666")
        self.assertEqual((status, answer["reason"]), (422, "id_missing"))
        for number in range(2):
            status, answer = service.send("chat_1", "666", messageId=str(number))
            self.assertEqual((status, answer["messages"][0]["duplicate"]), (200, False))

    def test_a_user_over_its_rate_is_answered_429_with_the_headers_of_the_draft(self):
        service = self.service("--user-rate", "3/1m")
        for number in range(3):
            self.assertEqual(service.send("r", f"m{number}")[0], 200)
        status, answer = service.curl(
            "logic/send", "-i", "-d",
            '{"roomId":"r","userId":123,"messages":[{"content":"one more"}]}')
        self.assertEqual(status, 429)
        self.assertIn('RateLimit-Policy: "user";q=3;w=60', answer)
        self.assertRegex(answer, r'RateLimit: "user";r=0;t=\d+')
        self.assertRegex(answer, r"Retry-After: \d+")
        self.assertIn('"reason":"user_rate"', answer)
        self.assertEqual(service.send("r", "another's", user=5)[0], 200)
        limited = self.service("--room-rate", "1/1m", "--user-rate", "off")
        self.assertEqual(limited.send("r", "one")[0], 200)
        self.assertEqual(limited.send("r", "two", user=2)[1]["reason"], "room_rate")
        self.assertEqual(limited.send("s", "two", user=2)[0], 200)
        limited = self.service("--address-rate", "1/1m")
        self.assertEqual(limited.send("r", "one")[0], 200)
        self.assertEqual(limited.send("s", "two", user=2)[1]["reason"], "address_rate")

    def test_strangers_pages_and_names_are_refused(self):
        service = self.service("--origin", "https://ours.example")
        self.assertEqual(service.curl("healthz", "-H", "Host: evil.example")[0], 421)
        self.assertEqual(service.curl("logic/rooms", "-H", "Origin: https://evil.example")[0], 403)
        self.assertEqual(service.curl("logic/rooms", "-H", "Origin: https://ours.example")[0], 200)
        refused = self.viewer(service, "r", headers="Origin: https://evil.example\r\n")
        self.assertEqual(refused.status, 403)
        self.assertEqual(self.viewer(service, "bad name").status, 422)

    def test_a_token_is_asked_for_where_one_is_set_and_is_never_shown(self):
        service = self.service(HOLDFAST_TOKEN=TOKEN, HOLDFAST_HANDSHAKE_SECRET=SECRET)
        bearer = ("-H", f"Authorization: Bearer {TOKEN}")
        for path in ("logic/rooms", "metrics"):
            self.assertEqual(service.curl(path)[0], 401)
            self.assertEqual(service.curl(path, "-H", "Authorization: Bearer wrong")[0], 401)
            self.assertEqual(service.curl(path, *bearer)[0], 200)
        self.assertEqual(service.curl("healthz")[0], 200)
        self.assertEqual(self.viewer(service, "r").status, 401)
        status, answer = service.curl("logic/token", *bearer, "-d", '{"userId":7,"roomId":"r"}')
        self.assertEqual(status, 200)
        token = json.loads(answer)["token"]
        self.assertEqual(self.viewer(service, "r", user="7", token=token).status, 101)
        self.assertEqual(self.viewer(service, "r", user="8", token=token).status, 403)
        self.assertEqual(self.viewer(service, "r", user="7", token=token + "x").status, 401)
        elsewhere = self.viewer(service, user="7", token=token)
        elsewhere.say(type="join", room="other")
        elsewhere.wait_heard(type="error", reason="forbidden_room")
        words = Path(f"/proc/{service.process.pid}/cmdline").read_text(encoding="utf-8")
        self.assertNotIn(TOKEN, words + service.curl("metrics", *bearer)[1] + str(service.lines))

    def test_an_address_that_others_reach_needs_a_token(self):
        self.expect_misuse(holdfast("serve", "--listen", "0.0.0.0:0"), "HOLDFAST_TOKEN")

    def test_options_variables_and_the_file_say_the_same(self):
        file = self.directory() / "serve.conf"
        file.write_text("# ours\ncooldown = 7s\nmode = drop\nrule = a_*:mode=none\n",
                        encoding="utf-8")
        service = self.service("--config", str(file), "--mode", "latest",
                               HOLDFAST_COOLDOWN="5s", HOLDFAST_RULE="b_*:mode=drop c_*:mode=none")
        for room, mode in (("x", "latest"), ("a_1", "none"), ("b_1", "drop"), ("c_1", "none")):
            service.send(room, "hello")
            state = json.loads(service.curl(f"logic/rooms/{room}")[1])
            self.assertEqual(state["mode"], mode, room)
        wait_until(lambda: json.loads(service.curl("logic/rooms/x")[1])["cooldownMs"] > 0,
                   "the cooldown runs")
        self.assertLessEqual(json.loads(service.curl("logic/rooms/x")[1])["cooldownMs"], 5000)

    def test_a_setting_that_cannot_be_is_said_with_where_it_stands(self):
        file = self.directory() / "serve.conf"
        file.write_text("\ncoldown = 7s\n", encoding="utf-8")
        done = holdfast("serve", "--config", str(file))
        self.expect_misuse(done, f"{file}:2: 'coldown' is no setting", "cooldown")
        self.expect_misuse(holdfast("serve", HOLDFAST_COOLDOWN="soon"), "HOLDFAST_COOLDOWN: 'soon'")
        self.expect_misuse(holdfast("serve", "--mode", "fast"), "--mode: ")
        self.expect_misuse(holdfast("serve", "--role", "job"), "memory:", "redis://")
        self.expect_misuse(holdfast("serve", "--consumers", "0"), "--consumers: '0'")
        self.expect_misuse(holdfast("serve", "--redis-port", "many"), "--redis-port: 'many'")
        self.expect_misuse(holdfast("serve", "--redis-port", "0", "--engine", "redis://127.0.0.1"),
                           "--redis-port", "memory:")

    def test_the_page_of_settings_is_the_table(self):
        done = holdfast("serve", "--print-settings")
        page = (ROOT / "docs/reference/serve_settings.md").read_text(encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(done.stdout, page)

    def test_the_page_of_a_room_allows_nothing_that_it_does_not_need(self):
        service = self.service()
        for page in ("", "room/video_123", "ops"):
            status, answer = service.curl(page, "-i")
            self.assertEqual(status, 200)
            self.assertIn("Content-Security-Policy: default-src 'none'; script-src 'self'", answer)
            self.assertIn("X-Content-Type-Options: nosniff", answer)
            self.assertNotIn("<script>", answer)
            tag = re.search(r"ETag: (\S+)", answer)[1]
            self.assertEqual(service.curl(page, "-H", f"If-None-Match: {tag}"), (304, ""))
        parts = ["room/r", "web/base.css", "web/room.css", "web/api.js", "web/stage.js",
                 "web/room.js", "web/icon.svg"]
        answers = [service.curl(path) for path in parts]
        self.assertEqual([status for status, _ in answers], [200] * len(parts))
        self.assertLessEqual(sum(len(body.encode()) for _, body in answers), 60_000)
        self.assertEqual(service.curl("room/")[0], 404)
        self.assertIn("/logic/send", json.loads(service.curl("openapi.json")[1])["paths"])

    def test_a_slow_request_ends_by_the_deadline_while_others_are_answered(self):
        service = self.service("--request-deadline", "0.5s")
        slow = socket.create_connection(("127.0.0.1", service.port), timeout=30)
        self.addCleanup(slow.close)
        slow.sendall(b"POST /logic/send HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        self.assertEqual(service.send("r", "hello")[0], 200)
        self.assertTrue(slow.recv(100).startswith(b"HTTP/1.1 408 "))

    def test_a_viewer_that_does_not_read_is_closed_and_others_wait_for_nobody(self):
        service = self.service("--mode", "none", "--viewer-queue", "500000", "--user-rate", "off",
                               "--room-rate", "off", "--address-rate", "off")
        good = self.viewer(service, "r")
        slow = self.viewer(service, "r", read=False)
        sent = 0
        while service.metric("holdfast_push_closed_slow_total") < 1:
            for _ in range(20):
                contents = [f"{sent + i:06d}" + "x" * 4000 for i in range(10)]
                body = {"roomId": "r", "userId": 1,
                        "messages": [{"content": one, "important": True} for one in contents]}
                self.assertEqual(service.curl("logic/send", "-d", json.dumps(body))[0], 200)
                sent += 10
            self.assertLess(sent, 50_000, "it is never closed")
        wait_until(lambda: len(good.messages) == sent, "the good one has all")
        self.assertEqual(good.faults, [])
        slow.close()

    def test_a_second_signal_ends_at_once(self):
        service = self.service("--drain", "60s")
        stays = socket.create_connection(("127.0.0.1", service.port), timeout=30)
        self.addCleanup(stays.close)
        stays.sendall(b"GET /healthz HTTP/1.1\r\nHost:")  # half a request is waited for
        wait_until(lambda: service.metric("holdfast_http_connections") >= 2, "it is there")
        service.process.send_signal(signal.SIGTERM)
        service.wait_log("SIGTERM: draining")
        self.assertIsNone(service.process.poll())
        service.process.send_signal(signal.SIGTERM)
        self.assertEqual(service.process.wait(30), 1)

    def test_load_counts_and_finds_nothing_lost(self):
        drawn = self.directory() / "load.svg"
        done = holdfast("load", "--viewers", "50", "--rate", "200", "--time", "1s", "--cooldown",
                        "200ms", "--limit", "--format", "json", "--plot", str(drawn))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["delivered"], seen["sent"] * 50)
        self.assertEqual((seen["lost"], seen["doubled"], seen["out_of_order"]), (0, 0, 0))
        self.assertGreater(seen["limit_deliveries_per_second"], 0)
        self.assertIn("<svg", drawn.read_text(encoding="utf-8"))

    def test_ten_thousand_idle_viewers_are_held(self):
        room = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500
        viewers = min(10_000, room)
        resource.setrlimit(resource.RLIMIT_NOFILE, (room + 500, room + 500))
        done = subprocess.run(
            [ground.PROGRAM, "load", "--viewers", str(viewers), "--rooms", "100", "--rate", "20",
             "--time", "2s", "--format", "json"], capture_output=True, text=True, check=False,
            timeout=110, env=ground.environment())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual((seen["viewers"], seen["closed"], seen["lost"]), (viewers, 0, 0))
        print(f"{viewers} viewers, {seen['kib_per_connection']} KiB each")


if __name__ == "__main__":
    ground.main()
