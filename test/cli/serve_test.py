#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast serve: the scenarios of live push with curl, on each engine.

  serve_test.py PROGRAM [test names]
"""

import json
import threading

import ground
from ground import Redis, wait_until
from push_client import Service, Viewer, resume

SEND = '{"roomId":"video_123","userId":123,"userName":"Ann","messages":[{"content":"hello"}]}'


class Scenarios:
    def service(self, *words):
        made = Service("--engine", self.engine(), *words)
        self.addCleanup(made.close)
        return made

    def viewer(self, *words, **more):
        made = Viewer(*words, **more)
        self.addCleanup(made.close)
        return made

    def test_the_same_body_twice_is_delivered_once_and_logged_as_a_duplicate(self):
        service = self.service()
        viewer = self.viewer(service, "video_123")
        words = ("-X", "POST", "-H", "Content-Type: application/json", "-d", SEND)
        first, second = (service.curl("logic/send", *words) for _ in range(2))
        self.assertEqual((first[0], second[0]), (200, 200))
        one, = json.loads(first[1])["messages"]
        two, = json.loads(second[1])["messages"]
        self.assertEqual((one["duplicate"], two["duplicate"]), (False, True))
        self.assertEqual((one["messageId"], one["offset"]), (two["messageId"], two["offset"]))
        service.wait_log(rf"^\[Consumer \d\] Duplicate message skipped: {one['messageId']}$")
        service.send("video_123", "the next")
        viewer.wait_contents(["hello", "the next"])
        service.wait_log(r"Lock released", 2)
        by = r"^\[Consumer \d\] "
        self.assertEqual(service.count(by + "Received PushMsg: video_123$"), 3)
        self.assertGreaterEqual(service.count(by + "Lock acquired: lock:broadcast:video_123$"), 2)
        self.assertEqual(service.count(by + "Message distributed: sent=1$"), 2)
        self.assertGreaterEqual(service.count(by + "Lock released$"), 2)

    def send_together(self, service, contents, **more):
        """All at once, each a post of its own; the first one has been broadcast before."""
        self.assertEqual(service.send("r", contents[0], **more)[0], 200)
        service.wait_log("Message distributed")
        threads = [threading.Thread(target=service.send, args=("r", one), kwargs=more)
                   for one in contents[1:]]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def test_drop_sends_one_of_five_now_and_skips_the_others_until_the_window_is_over(self):
        service = self.service("--mode", "drop", "--cooldown", "20s")
        viewer = self.viewer(service, "r")
        self.send_together(service, [f"m{i}" for i in range(5)])
        service.wait_log(r"^\[Consumer \d\] Room in cooldown, skipping: r$", 4)
        self.assertEqual(viewer.contents(), ["m0"])
        service.send("r", "must be seen", important=True)
        viewer.wait_contents(["m0", "must be seen"])

    def test_coalesce_sends_one_of_five_now_and_the_others_in_one_frame(self):
        service = self.service("--cooldown", "3s")
        viewer = self.viewer(service, "r")
        self.send_together(service, [f"m{i}" for i in range(5)])
        wait_until(lambda: len(viewer.messages) == 5, "all five")
        self.assertEqual([frame["count"] for frame in viewer.frames()], [1, 4])
        self.assertEqual((viewer.faults, viewer.contents()[0]), ([], "m0"))
        service.wait_log(r"^\[Consumer \d\] Room in cooldown, deferred: r$")
        self.assertEqual(service.count("skipping"), 0)

    def test_fractions_of_a_second_are_windows(self):
        service = self.service("--cooldown", "0.1", "--dedup", "0.5s")
        viewer = self.viewer(service, "r")
        contents = [f"m{i}" for i in range(30)]
        for one in contents:
            service.send("r", one)
        viewer.wait_contents(contents)
        self.assertGreater(len(viewer.frames()), 1)
        # Half a second later the same words are another message.
        wait_until(lambda: not service.send("r", "m0")[1]["messages"][0]["duplicate"], "dedup ends")

    def test_a_viewer_resumes_behind_its_last_offset_or_is_told_that_it_cannot(self):
        service = self.service("--mode", "none", "--history-length", "20")
        viewer = self.viewer(service, "r")
        service.send("r", "one")
        viewer.wait_contents(["one"])
        viewer.close()
        service.send("r", "two", "three")
        again = resume(viewer, service, "r")
        self.addCleanup(again.close)
        again.wait_contents(["one", "two", "three"])
        for i in range(40):
            service.send("r", f"many {i}", user=i)
        wait_until(lambda: len(again.messages) == 43, "all of it")
        epoch, _ = again.at["r"]
        late = self.viewer(service, "r", epoch=epoch, offset=1)
        late.wait_heard(type="joined", recovered=False)
        other = self.viewer(service, "r", epoch="0123456789abcdef", offset=1)
        other.wait_heard(type="joined", recovered=False)

    def test_several_rooms_share_one_connection(self):
        service = self.service("--mode", "none")
        viewer = self.viewer(service, "a")
        viewer.say(type="join", room="b")
        viewer.wait_heard(type="joined", room="b")
        service.send("a", "to a")
        service.send("b", "to b")
        wait_until(lambda: sorted(viewer.contents()) == ["to a", "to b"], "both")
        viewer.say(type="leave", room="a")
        viewer.wait_heard(type="left", room="a")
        service.send("a", "not heard")
        service.send("b", "heard")
        wait_until(lambda: viewer.contents()[-1] == "heard", "the other room")
        self.assertNotIn("not heard", viewer.contents())
        viewer.say(type="ping")
        viewer.wait_heard(type="pong")
        viewer.say(type="dance")
        viewer.wait_heard(type="error", reason="wrong_type")

    def test_a_room_tells_its_viewers_mode_and_history(self):
        service = self.service("--rule", "quiet_*:mode=latest,cooldown=0.5s")
        viewer = self.viewer(service, "quiet_1")
        service.send("quiet_1", "hello")
        viewer.wait_contents(["hello"])
        wait_until(lambda: json.loads(service.curl("logic/rooms/quiet_1")[1])["viewers"] == 1,
                   "the viewer is counted")
        state = json.loads(service.curl("logic/rooms/quiet_1")[1])
        self.assertEqual((state["mode"], state["tail"]), ("latest", 1))
        self.assertIn("quiet_1", service.curl("logic/rooms")[1])
        self.assertEqual(service.curl("logic/rooms/never")[0], 404)


class ServeOnMemory(Scenarios, ground.Case):
    def engine(self):
        return "memory:"


class ServeOnRedis(Scenarios, ground.Case):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.close)

    def engine(self):
        return self.redis.url

    def test_an_operator_sees_the_keys_and_a_deleted_cooldown_takes_effect(self):
        service = self.service("--cooldown", "60s")
        viewer = self.viewer(service, "video_123")
        service.send("video_123", "one")
        viewer.wait_contents(["one"])
        self.assertEqual(self.redis.cli("GET", "room:cooldown:video_123").stdout.strip(), "1")
        self.assertGreater(int(self.redis.cli("TTL", "room:cooldown:video_123").stdout), 30)
        wait_until(lambda: self.redis.cli("SCARD", "room:connections:video_123").stdout.strip()
                   == "1", "the viewer's connection is there")
        connection = self.redis.cli("SMEMBERS", "room:connections:video_123").stdout.strip()
        info = self.redis.cli("HGETALL", f"connection:info:{connection}").stdout
        for field in ("comet_id", "user_id", "room_id", "video_123"):
            self.assertIn(field, info)
        self.assertEqual(self.redis.cli("GET", "user:online:v").stdout.strip(), connection)
        service.send("video_123", "two")
        service.wait_log("Room in cooldown, deferred: video_123")
        self.assertEqual(viewer.contents(), ["one"])
        self.redis.cli("DEL", "room:cooldown:video_123")
        viewer.wait_contents(["one", "two"], 30)  # half of the window

    def test_a_room_of_a_dead_consumer_is_free_after_the_locks_life(self):
        # Another program holds the room's lock, and never gives it back.
        self.redis.cli("SET", "lock:broadcast:r", "consumer_9_1", "PX", "1500")
        service = self.service("--lock-life", "2s")
        viewer = self.viewer(service, "r")
        service.send("r", "one")
        service.wait_log(r"^\[Consumer \d\] Another consumer is processing room: r$")
        viewer.wait_contents(["one"])


if __name__ == "__main__":
    ground.main()
