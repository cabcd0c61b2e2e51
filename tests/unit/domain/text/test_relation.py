"""What two short texts are to each other, in Japanese and English."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.similarity import TextRelation, compare_texts, words_and_values_of_text

WORDS = ["太郎", "緑茶", "が", "は", "好き", "嫌い", "ない", "ません", "5", "月", "4日", "三百円"]
WORDS += ["Taro", "likes", "tea", "not", "42", "!", "🦀", "うなぎ"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=40)


def between(one: str, other: str) -> TextRelation:
    """The relation, which does not depend on the order."""
    found = compare_texts(words_and_values_of_text(one), words_and_values_of_text(other))
    assert compare_texts(words_and_values_of_text(other), words_and_values_of_text(one)) is found
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("太郎は緑茶が好き。", "太郎は緑茶が好き"),
        ("\uff34ARO likes tea", "taro likes tea."),
        ("値段は１０００円", "値段は1000円"),
    ],
)
def test_case_width_and_full_stops_make_no_difference(one: str, other: str) -> None:
    assert between(one, other) is TextRelation.SAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("太郎さんは緑茶が好きです", "太郎は緑茶が好き"),
        ("太郎の誕生日は5月4日", "太郎の誕生日は五月四日です"),
        ("値段は1,000円", "値段は千円です"),
        ("二〇二六年に卒業", "2026年に卒業しました"),
        ("明日は月曜", "明日は月曜日だよ"),
        ("Taro likes green tea", "Taro loved the green tea."),
        ("Taro's birthday is May 4", "Taro's birthday is May 4, 1990"),
        ("The meeting is on Friday", "Meetings on Fridays"),
        ("Taro likes green tea", "Taro likes strong green tea"),
    ],
)
def test_other_words_for_the_same_are_near(one: str, other: str) -> None:
    assert between(one, other) is TextRelation.NEAR


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("太郎の誕生日は5月4日", "太郎の誕生日は五月六日です"),
        ("会議は月曜日の10時", "会議は火曜日の10時"),
        ("値段は１０００円", "値段は二千円"),
        ("太郎は緑茶が好き", "太郎は緑茶が嫌い"),
        ("太郎は緑茶が好き", "太郎は緑茶が好きではない"),
        ("太郎はうなぎがすき", "太郎はうなぎがきらい"),
        ("毎朝コーヒーを飲みます", "毎朝コーヒーを飲みません"),
        ("気温は-5度", "気温は5度"),
        ("Taro's birthday is May 4", "Taro's birthday is May 6"),
        ("The meeting is on Monday", "The meeting is on Tuesday"),
        ("The door code is 4412", "The door code is 9921"),
        ("Taro likes green tea", "Taro doesn’t like green tea"),
        ("Taro likes green tea", "Taro hates green tea"),
        ("He can swim", "He cannot swim"),
        ("Ken eats meat", "Ken never eats meat"),
    ],
)
def test_other_numbers_dates_and_denials_contradict(one: str, other: str) -> None:
    assert between(one, other) is TextRelation.CONTRARY


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("太郎は緑茶が好き", "次郎は緑茶が好き"),
        ("太郎の誕生日は5月4日", "太郎の妹の誕生日は5月6日"),
        ("第一会議室は3階", "第二会議室は4階"),
        ("東京から大阪へ引っ越した", "大阪から東京へ引っ越した"),
        ("鍵は青い箱の中", "鍵は赤い箱の中"),
        ("薬を飲まなければならない", "薬を飲む"),
        ("蟹は横に歩く", "蟹は空を飛ぶ"),
        ("Taro likes green tea", "Jiro likes green tea"),
        ("Taro likes Hanako", "Hanako likes Taro"),
        ("Taro's birthday is May 4", "Taro's sister's birthday is May 4"),
        ("The blue crab costs 300 yen", "The red crab costs 200 yen"),
        ("I like tea", "You like tea"),
        ("Taro writes C", "Taro writes C++"),
        ("I love 🦀", "I love 🐙"),
        ("Taro likes tea", "太郎はお茶が好き"),
    ],
)
def test_of_other_things_nothing_is_concluded(one: str, other: str) -> None:
    assert between(one, other) is TextRelation.OTHER


@given(texts)
def test_a_text_never_contradicts_itself(text: str) -> None:
    assert between(text, text) is TextRelation.SAME


@given(texts, texts)
def test_the_relation_is_the_same_from_both_sides(one: str, other: str) -> None:
    between(one, other)
