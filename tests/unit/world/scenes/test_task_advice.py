"""Advice about tasks that people write."""

from __future__ import annotations

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.advice import Surroundings, advise, normalised, spelling, verb_of
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.tasks.vocabulary import Verb

PHOTOGRAPH = Surroundings(None, View.TOP, {}, ())


def test_the_package_own_tasks_get_no_complaint() -> None:
    for seed in range(20):
        scene, main = draw_task_scene(seed, views=[View.TOP])
        tasks = make_tasks(scene, view=View.TOP, main=main)
        advice = advise([task.text for task in tasks], Surroundings(scene, View.TOP, {}, ()))
        for task, item in zip(tasks, advice, strict=True):
            assert item.meaning == "; ".join(map(str, task.plan))
            assert item.verb is task.verb
            assert (item.problem, item.spelling, item.other_references) == ("", (), 0), task.text


def test_a_sentence_that_fits_nothing_says_why() -> None:
    scene, main = draw_task_scene(0, views=[View.TOP])
    unclear, broken = advise(
        ["push the object that is not a peg", "dance a waltz"], Surroundings(scene, View.TOP, {}, ())
    )
    assert unclear.problem
    assert broken.problem
    assert unclear.meaning == broken.meaning == ""
    assert str(main)


def test_spelling_names_the_near_word_and_learns_from_other_tasks() -> None:
    assert spelling("pik the purpel cube", ()) == (("purpel", "purple"),)
    assert spelling("fill the kettle", ()) == ()
    assert spelling("fill the ketle", ["kettle"]) == (("ketle", "kettle"),)
    assert spelling("push the cubes", ()) == ()


def test_duplicates_by_words_and_by_meaning() -> None:
    scene, main = draw_task_scene(0, views=[View.TOP])
    texts = [str(main), f"Please {main}!".replace("the ", ""), str(main).upper()]
    around = Surroundings(scene, View.TOP, {normalised(str(main)): 3}, ())
    advice = advise(texts, around)
    assert [item.repeats for item in advice] == [(), (1,), (1, 2)]
    assert advice[0].other_references == 3
    free = advise(["tidy up the table", "Tidy up table.", ""], PHOTOGRAPH)
    assert [item.repeats for item in free] == [(), (1,), ()]


def test_verbs_of_free_sentences() -> None:
    assert verb_of("open the drawer") is Verb.PULL
    assert verb_of("gently grab that bottle by its neck") is Verb.PICK
    assert verb_of("tidy up the table") is None
