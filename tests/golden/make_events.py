#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes event files with TensorBoard's own messages and record writer. Needs the package tensorboard.
Run by hand when a case is added: python3 tests/golden/make_events.py

events.tfevents         what tests/formats/test_events.c writes too, byte for byte
events_other.tfevents   what other programs write besides: several values in a summary, metadata, tensors,
                        a histogram, a graph, values without a tag
"""
import os

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.summary.writer.record_writer import RecordWriter

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = Event(wall_time=1700000000.25, file_version="brain.Event:2")


def write(name, events):
    with open(os.path.join(HERE, name), "wb") as file:
        writer = RecordWriter(file)
        for event in events:
            writer.write(event.SerializeToString())


def scalar(tag, step, wall_time, value):
    values = [Summary.Value(tag=tag, simple_value=value)]
    return Event(wall_time=wall_time, step=step, summary=Summary(value=values))


def image(tag, step, wall_time, height, width, data):
    picture = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=data)
    return Event(wall_time=wall_time, step=step, summary=Summary(value=[Summary.Value(tag=tag, image=picture)]))


write("events.tfevents", [
    VERSION,
    Event(wall_time=1700000000.25, step=40, session_log=SessionLog(status=SessionLog.START)),
    scalar("step/loss", 50, 1700000001.5, 2.302585),
    scalar("step/loss", 2**40, 1700000002.5, 0.0),
    scalar("step/gr\u00f6\u00dfe", 0, 0.0, float("inf")),
    image("batch", 40, 1700000003.0, 2, 3, bytes(range(256))),
])
write("events_other.tfevents", [
    VERSION,
    Event(wall_time=1.0, graph_def=b"\x0a\x02\x08\x01"),
    Event(wall_time=2.0, step=1, summary=Summary(value=[
        Summary.Value(tag="a", simple_value=1.0, metadata=SummaryMetadata(display_name="A")),
        Summary.Value(tag="histogram", histo=HistogramProto(min=0, max=1, num=1, sum=1)),
        Summary.Value(tag="tensor", tensor=TensorProto(dtype=1, float_val=[1.0])),
        Summary.Value(tag="b", simple_value=-2.5),
        Summary.Value(simple_value=3.0),
    ])),
    Event(wall_time=3.0, step=2, summary=Summary()),
    Event(wall_time=4.0, step=2, session_log=SessionLog(status=SessionLog.STOP)),
    Event(wall_time=5.0, step=3),
    scalar("c", -7, 6.0, 4.0),
])
