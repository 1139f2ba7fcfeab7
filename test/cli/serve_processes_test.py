#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""holdfast serve in several processes on one Redis: roles apart, killed, drained.

  serve_processes_test.py PROGRAM [test names]
"""

import signal
import threading

import ground
from ground import Redis, Sentinel, wait_until
from push_client import Service, Viewer, resume, until


class ServeProcesses(ground.Case):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(lambda: self.redis.close())

    def service(self, role, *words):
        made = Service("--engine", self.redis.url, "--role", role, "--lock-life", "1s",
                       "--cooldown", "0.2s", "--user-rate", "off", *words)
        self.addCleanup(made.close)
        return made

    def viewer(self, *words, **more):
        made = Viewer(*words, **more)
        self.addCleanup(made.close)
        return made

    def send_while(self, logic, action):
        """Sends to room r, one message a post, while the action runs; the ids that were taken."""
        done = threading.Event()
        taken = []

        def send(number):
            content = f"m{number}"
            status, answer = logic.send("r", content, messageId=content)
            self.assertEqual(status, 200, answer)
            taken.append(content)

        def run():
            try:
                action(lambda count: wait_until(lambda: len(taken) >= count, f"{count} sent"))
            finally:
                done.set()

        thread = threading.Thread(target=run)
        thread.start()
        until(done.is_set, send)
        thread.join()
        return taken

    def test_each_role_runs_alone_and_any_number_of_each(self):
        logics = [self.service("logic") for _ in range(2)]
        for _ in range(2):
            self.service("job", "--consumers", "2")
        comets = [self.service("comet") for _ in range(2)]
        viewers = [self.viewer(comet, "r") for comet in comets for _ in range(3)]
        for i in range(20):
            self.assertEqual(logics[i % 2].send("r", f"m{i}")[0], 200)
        for one in viewers:
            one.wait_contents([f"m{i}" for i in range(20)])
        self.assertEqual(self.viewer(logics[0], "r", read=False).status, 404)
        self.assertEqual(comets[0].send("r", "x")[0], 404)
        wait_until(lambda: '"comets":2' in logics[0].curl("logic/rooms/r")[1], "both are counted")

    def test_a_job_that_is_killed_under_load_loses_and_doubles_nothing(self):
        logic, comet = self.service("logic"), self.service("comet")
        jobs = [self.service("job", "--consumers", "2") for _ in range(2)]
        viewers = [self.viewer(comet, "r") for _ in range(3)]

        def kill(wait_sent):
            wait_sent(20)
            jobs[0].kill()
            wait_sent(50)
            jobs.append(self.service("job", "--consumers", "2"))
            wait_sent(80)
            jobs[1].kill()
            wait_sent(110)

        taken = self.send_while(logic, kill)
        for one in viewers:
            one.wait_contents(taken)

    def test_viewers_of_a_comet_that_is_killed_resume_on_another_with_nothing_missing(self):
        logic = self.service("logic,job")
        comets = [self.service("comet", "--presence-life", "2s") for _ in range(2)]
        viewers = [self.viewer(comets[0], "r") for _ in range(3)]
        stays = self.viewer(comets[1], "r")

        def kill(wait_sent):
            wait_sent(20)
            comets[0].kill()
            for one in viewers:
                one.ended.wait(30)
            wait_sent(50)
            viewers[:] = [resume(one, comets[1], "r") for one in viewers]
            wait_sent(80)

        taken = self.send_while(logic, kill)
        for one in (stays, *viewers):
            self.addCleanup(one.close)
            one.wait_contents(taken)
        # Its entries end by their lease.
        wait_until(lambda: '"comets":1' in logic.curl("logic/rooms/r")[1], "the dead one is gone")

    def test_sigterm_drains_requests_end_the_queue_is_handed_on_viewers_are_told(self):
        logic, other = self.service("logic"), self.service("job")
        ending = self.service("all", "--drain", "5s")
        viewer = self.viewer(ending, "r")

        def drain(wait_sent):
            wait_sent(20)
            ending.process.send_signal(signal.SIGTERM)
            self.assertEqual(ending.process.wait(30), 0)
            wait_sent(40)

        taken = self.send_while(logic, drain)
        self.assertTrue(viewer.ended.wait(30))
        self.assertEqual(viewer.closed, 4012)
        hint = viewer.heard[-1]
        self.assertEqual((hint["type"], hint["reason"]), ("closing", "drain"))
        where, = hint["resume"]
        self.assertEqual((where["epoch"], where["offset"]), viewer.at["r"])
        again = resume(viewer, self.service("comet"), "r")
        self.addCleanup(again.close)
        again.wait_contents(taken)
        self.assertIsNone(other.process.poll())

    def test_a_paused_job_that_wakes_after_its_locks_life_doubles_nothing(self):
        logic, comet = self.service("logic"), self.service("comet")
        jobs = [self.service("job", "--consumers", "2") for _ in range(2)]
        viewer = self.viewer(comet, "r")

        def pause(wait_sent):
            for number, job in enumerate(jobs):
                wait_sent(20 + 60 * number)
                job.process.send_signal(signal.SIGSTOP)
                wait_sent(70 + 60 * number)
                job.process.send_signal(signal.SIGCONT)
            wait_sent(160)

        viewer.wait_contents(self.send_while(logic, pause))

    def test_a_redis_that_was_away_for_a_moment_comes_back_to_all_roles(self):
        service = self.service("all")
        viewer = self.viewer(service, "r")
        service.send("r", "before")
        viewer.wait_contents(["before"])
        self.redis.cli("CLIENT", "KILL", "TYPE", "normal")
        self.redis.cli("CLIENT", "KILL", "TYPE", "pubsub")
        wait_until(lambda: service.send("r", "after", messageId="a")[0] == 200, "it is back")
        viewer.wait_contents(["before", "after"])

    def expect_nothing_missing_after(self, fault):
        """Sends, has the fault, sends on: an answer that did not come is asked for again."""
        logic, comet = self.service("logic"), self.service("comet")
        for _ in range(2):
            self.service("job", "--consumers", "2")
        viewer = self.viewer(comet, "r")
        contents = [f"m{number}" for number in range(60)]
        for number, content in enumerate(contents):
            if number == 30:
                viewer.wait_contents(contents[:30])
                fault()
            wait_until(lambda: logic.send("r", content, messageId=content)[0] == 200,
                       f"{content} is taken")
        viewer.wait_contents(contents)

    def test_a_redis_that_is_killed_and_starts_again_loses_and_doubles_nothing(self):
        self.redis.close()
        self.redis = Redis("--appendonly", "yes", "--appendfsync", "always")

        def restart():
            self.redis.fail()
            self.redis.start()

        self.expect_nothing_missing_after(restart)

    def test_a_failover_by_sentinel_loses_and_doubles_nothing_that_was_replicated(self):
        self.redis.close()
        self.redis = Sentinel()
        self.expect_nothing_missing_after(self.redis.fail_over)


if __name__ == "__main__":
    ground.main()
