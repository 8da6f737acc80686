"""Answers for a person who is not there: the scene is restored, the task was done. Only for rehearsals."""

import time

import rclpy
from embodied_iqa_msgs.srv import ConfirmRun
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.live.ros.calls import call
from embodied_iqa.live.ros.spinning import SpinThread

PREPARE, JUDGE = 7, 8
AGAIN_S, LONGEST_S = 0.5, 600.0


def main() -> None:
    """Answer both questions of one run; an answer is not accepted before its question is asked."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # SIGTERM just ends it
    node = Node("person")
    confirm = node.create_client(ConfirmRun, "trial/confirm")
    spin = SpinThread(node)
    for stage in (PREPARE, JUDGE):
        answer = ConfirmRun.Request(stage=stage, run_index=0, yes=True)
        while not call(confirm, answer, LONGEST_S, again_s=2.0).success:
            time.sleep(AGAIN_S)
    spin.close()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
