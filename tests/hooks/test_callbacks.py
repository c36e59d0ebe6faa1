"""The callbacks of adapters/python/tocsin.py for transformers and Lightning, which stand-ins take the place of."""

import copy
import pathlib
import pickle
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hooks import Hooks, tocsin  # noqa: E402


class Callbacks(Hooks):
    def setUp(self):
        super().setUp()
        for patch in (mock.patch.object(tocsin.Watch, "begin"), mock.patch.object(tocsin.Watch, "follow_backward")):
            patch.start()
            self.addCleanup(patch.stop)
        for name in ("TrainerCallback", "LightningCallback"):
            self.addCleanup(lambda name=name: vars(tocsin).pop(name, None))

    def test_the_callback_of_transformers_knows_steps_evaluations_and_the_end(self):
        with mock.patch.dict(sys.modules, {"transformers": types.SimpleNamespace(TrainerCallback=object)}):
            callback = tocsin.TrainerCallback()
        state = types.SimpleNamespace(global_step=100)
        callback.on_step_end(None, state, None)          # before the training began
        with mock.patch.object(sys, "__stdout__", self.out):
            callback.on_train_begin(None, state, None, model=object(), optimizer=None)
        for step in (101, 102):
            self.clock.now += 0.5
            callback.on_step_end(None, types.SimpleNamespace(global_step=step), None)
        callback.on_prediction_step(None, state, None)
        callback.on_prediction_step(None, state, None)
        self.clock.now += 60
        callback.on_evaluate(None, state, None, metrics={})
        self.clock.now += 0.25
        callback.on_step_end(None, types.SimpleNamespace(global_step=103), None)
        self.clock.now += 30
        callback.on_save(None, state, None)
        callback.on_train_end(None, state, None)
        self.assertEqual(self.out.lines(), [
            "[rank 0] step 102 | step_time 0.50000 | compute 0.50000 | data 0.00000 | comm 0.00000", "[rank 0] phase eval",
            "[rank 0] step 103 | step_time 0.25000 | compute 0.25000 | data 0.00000 | comm 0.00000"])

    def test_the_callback_of_lightning_takes_accumulated_batches_for_one_step(self):
        package = types.SimpleNamespace(pytorch=types.SimpleNamespace(callbacks=types.SimpleNamespace(Callback=object)))
        with mock.patch.dict(sys.modules, {"lightning": package, "lightning.pytorch": package.pytorch}):
            callback = tocsin.LightningCallback()
        trainer = types.SimpleNamespace(global_step=0, sanity_checking=True)
        callback.on_validation_start(trainer, None)       # the check before the training
        with mock.patch.object(sys, "__stdout__", self.out):
            callback.on_train_start(trainer, object())
        trainer.sanity_checking = False
        for step in (1, 1, 2, 2):
            self.clock.now += 0.5
            trainer.global_step = step
            callback.on_train_batch_end(trainer, None, None, None, 0)
        callback.on_validation_start(trainer, None)
        callback.on_validation_end(trainer, None)
        callback.on_train_end(trainer, None)
        self.assertEqual(self.out.lines(), ["[rank 0] step 2 | step_time 1.00000 | compute 1.00000 | data 0.00000 | comm 0.00000", "[rank 0] phase eval"])

    def test_callbacks_can_be_pickled_and_copied_as_launchers_of_processes_do(self):
        package = types.SimpleNamespace(pytorch=types.SimpleNamespace(callbacks=types.SimpleNamespace(Callback=object)))
        fakes = {"transformers": types.SimpleNamespace(TrainerCallback=object), "lightning": package, "lightning.pytorch": package.pytorch}
        with mock.patch.dict(sys.modules, fakes):
            for callback in (tocsin.TrainerCallback(), tocsin.LightningCallback()):
                self.assertIs(type(pickle.loads(pickle.dumps(callback))), type(callback))
                self.assertIsNot(copy.deepcopy(callback).watched, callback.watched)

    def test_a_name_that_is_not_there_is_an_attribute_error(self):
        with self.assertRaisesRegex(AttributeError, "watch, TrainerCallback and LightningCallback"):
            tocsin.Trainer


if __name__ == "__main__":
    unittest.main()
