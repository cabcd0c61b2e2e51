"""Bugs seeded in what keeps forgers, programs and strangers' words out of an agent's mail."""

from tests.hostile.entries.guard import Guard

_DOMAIN, _CHANNEL = "opencrab.domain.email", "opencrab.adapters.email"
_DOOR = "opencrab.gateways.door"

_SENDERS = (
    Guard(
        "AnyServerVouches",
        f"{_DOMAIN}.authentication",
        "return bool(words) and words[0].casefold() == authserv_id.casefold()",
        "return bool(words)",
        "a verdict counts that the sender wrote in the name of another server",
    ),
    Guard(
        "ServersNamedAlike",
        f"{_DOMAIN}.authentication",
        "words[0].casefold() == authserv_id.casefold()",
        "words[0].casefold().startswith(authserv_id.casefold())",
        "a verdict counts of a server whose name begins like ours",
    ),
    Guard(
        "OtherDomainsVouch",
        f"{_DOMAIN}.authentication",
        'if told.get("header.from") == domain else',
        'if told.get("header.from") else',
        "a verdict on another domain confirms a sender",
    ),
    Guard(
        "ForgeriesDoubted",
        f"{_DOMAIN}.authentication",
        'return EmailVerdict.FAIL if result == "fail" else EmailVerdict.NONE',
        "return EmailVerdict.NONE",
        "a mail is answered whose sender our server calls forged",
    ),
    Guard(
        "FirstOfTwoVerdicts",
        f"{_DOMAIN}.authentication",
        "if len(dmarc) > 1:",
        "if not told:",
        "of two verdicts in one header the first counts",
    ),
    Guard(
        "LastPropertyCounts",
        f"{_DOMAIN}.authentication",
        'told[key] = "" if key in told else value.strip(\'"\').lower()',
        "told.setdefault(key, value.strip('\"').lower())",
        "of a property that is told twice the first counts",
    ),
    Guard(
        "SpfSuffices",
        f"{_DOMAIN}.authentication",
        "if is_sent_by and is_signed_by else",
        "if is_sent_by else",
        "who may send for a domain is taken for anybody in it, though the signature fails",
    ),
    Guard(
        "SignaturesSuffice",
        f"{_DOMAIN}.authentication",
        "if is_sent_by and is_signed_by else",
        "if is_signed_by else",
        "a signed mail that somebody sends again confirms its sender",
    ),
    Guard(
        "TopDomainsAligned",
        f"{_DOMAIN}.authentication",
        'return "." in domain and (wanted == domain or wanted.endswith(f".{domain}"))',
        'return wanted == domain or wanted.endswith(f".{domain}")',
        "whoever signs for a top-level domain signs for all below it",
    ),
    Guard(
        "CommentsRead",
        f"{_DOMAIN}.authentication",
        "if not depth:",
        'if piece not in "()":',
        "what a sender put into a comment is read as a verdict",
    ),
    Guard(
        "QuotesRead",
        f"{_DOMAIN}.authentication",
        """re.sub(r'[\\s;="\\\\]', "", piece)""",
        """piece.replace('"', "")""",
        "what a sender put into quotes is read as a verdict",
    ),
    Guard(
        "UnverifiedAreThemselves",
        f"{_DOMAIN}.intake",
        "is_verified = verdict is EmailVerdict.PASS",
        "is_verified = verdict is not EmailVerdict.FAIL",
        "a sender whom nobody confirmed has the owner's authority",
    ),
    Guard(
        "UnverifiedShareIdentities",
        f"{_DOMAIN}.intake",
        "person = email_person_id(email.sender, verified=is_verified)",
        "person = email_person_id(email.sender, verified=True)",
        "an address that nobody confirmed is the same person as the confirmed one",
    ),
    Guard(
        "SecondFromCounts",
        f"{_DOMAIN}.incoming",
        "sender = parse_email_sender(senders[0]) if len(senders) == 1 else None",
        "sender = parse_email_sender(senders[-1]) if senders else None",
        "of two senders the one counts that no server has judged",
    ),
    Guard(
        "NamesShowAddresses",
        f"{_DOMAIN}.incoming",
        're.sub(r"[()<>@\\uff08\\uff09\\uff20]", " ", decode_email_header(raw))',
        "decode_email_header(raw)",
        "a stranger's name shows the owner's address",
    ),
)

_PROGRAMS = (
    Guard(
        "OwnMailsAnswered",
        f"{_DOMAIN}.intake",
        "if email.sender in rules.aliases:",
        "if not email.sender:",
        "an agent answers its own mails that come back",
    ),
    Guard(
        "BouncesAnswered",
        f"{_DOMAIN}.intake",
        "if is_returned or any(",
        "if is_returned and not kinds and any(",
        "an agent answers what says that a mail did not arrive",
    ),
    Guard(
        "ListsAnswered",
        f"{_DOMAIN}.intake",
        "if any(_LISTS.fullmatch(name) for name, _ in email.headers):",
        "if not email.headers:",
        "an agent answers a mailing list",
    ),
    Guard(
        "BulkAnswered",
        f"{_DOMAIN}.intake",
        "if precedence:",
        "if precedence is None:",
        "an agent answers circulars",
    ),
    Guard(
        "AutomaticAnswersAnswered",
        f"{_DOMAIN}.intake",
        'not submitted <= {"", "no"} or',
        "submitted is None or",
        "two agents answer each other without end",
    ),
    Guard(
        "NoReplyAnswered",
        f"{_DOMAIN}.intake",
        'or _PROGRAMS.fullmatch(email.sender or "") is not None',
        "",
        "an agent answers addresses behind which nobody is",
    ),
    Guard(
        "OthersMailsAnswered",
        f"{_DOMAIN}.intake",
        "alias = next((each for each in email.recipients if each in rules.aliases), None)",
        "alias = next((each for each in (*email.recipients, *rules.aliases) "
        "if each in rules.aliases), None)",
        "an agent answers mails in its mailbox that were for others",
    ),
    Guard(
        "LimitForgotten",
        f"{_DOOR}.email_polling",
        "return accepted.id in lately or len(lately) < self._rules.most_per_hour",
        "return accepted.id in lately or len(lately) >= 0",
        "a program that answers without saying so is answered without end",
    ),
)

_WORDS = (
    Guard(
        "QuotedWordsKept",
        f"{_DOMAIN}.quotation",
        'if not line.startswith((">", "\\uff1e")):',
        "if line is not None:",
        "words that an owner quotes count as the owner's",
    ),
    Guard(
        "ReturnsBeginLines",
        f"{_DOMAIN}.quotation",
        'whole = whole.replace("\\r", " " if "\\n" in whole else "\\n")',
        'whole = whole.replace("\\r", "\\n")',
        "a stranger's CR in a quotation ends it",
    ),
    Guard(
        "HistoryKept",
        f"{_DOMAIN}.quotation",
        "return sum(_FIELD.match(each.strip()) is not None "
        "for each in lines[at + 1 : at + 6]) >= _FIELDS",
        "return False",
        "the earlier mail below an owner's counts as the owner's words",
    ),
    Guard(
        "BlockquotesKept",
        f"{_DOMAIN}.html_text",
        'self._quoted += tag == "blockquote"',
        'self._quoted += tag == "cite"',
        "words that an owner's page quotes count as the owner's",
    ),
    Guard(
        "QuotationsOfOwners",
        f"{_DOMAIN}.quotation",
        "return WrittenWords(text.strip(), holds_others=True)",
        "return WrittenWords(text.strip(), holds_others)",
        "a mail that only quotes counts as its sender's words",
    ),
    Guard(
        "ForwardedByOwners",
        f"{_DOMAIN}.intake",
        "holds_others=written.holds_others or email.is_of_calendar",
        "holds_others=email.is_of_calendar",
        "words that an owner forwards count as the owner's",
    ),
    Guard(
        "InvitationsOfOwners",
        f"{_DOMAIN}.intake",
        "holds_others=written.holds_others or email.is_of_calendar",
        "holds_others=written.holds_others",
        "what an owner's calendar repeats counts as the owner's words",
    ),
    Guard(
        "ForwardedHasOwnersRights",
        "opencrab.engine.chat.messages",
        "Authority.PUBLIC if said.holds_others else chat.people.authority(user_id)",
        "chat.people.authority(user_id)",
        "a mail with words of others acts with its sender's authority",
    ),
)

_THREADS = (
    Guard(
        "ThreadsShared",
        f"{_DOMAIN}.address",
        'return f"{person_id}.{_digest(8, alias)}.{thread}"',
        'return f"{_digest(32, thread)}.{_digest(8, alias)}.{thread}"',
        "who names somebody's mail reads and writes in their conversation",
    ),
    Guard(
        "AliasesShared",
        f"{_DOMAIN}.intake",
        "agent=rules.aliases[alias],",
        "agent=min(rules.aliases.values()),",
        "another agent answers than the one at whose address it was",
    ),
    Guard(
        "MessageIdsTrusted",
        f"{_DOMAIN}.intake",
        "event_id = email_event_id(person, *told)",
        "event_id = email_event_id(person, email.message_id)",
        "of two mails that bear the same Message-ID one is lost",
    ),
    Guard(
        "ReadBeforeQueued",
        f"{_DOOR}.email_polling",
        "is_taken = self._take(mailbox, uid, again=False)\n"
        "            noted = self._note(noted, at.uidvalidity, uid + 1)",
        "noted = self._note(noted, at.uidvalidity, uid + 1)\n"
        "            is_taken = self._take(mailbox, uid, again=False)",
        "a mail is lost if the process dies while it is read",
    ),
    Guard(
        "RenumberedUnread",
        f"{_DOOR}.email_polling",
        "newest = mailbox.uids_since((since - OVERLAP).date())",
        "newest = mailbox.uids_since((since + OVERLAP).date())",
        "mails that came while a mailbox was numbered anew are lost",
    ),
)

_ANSWERS = (
    Guard(
        "CallsShownToAll",
        f"{_DOOR}.email_event",
        "shows_calls=is_owner,",
        "shows_calls=True,",
        "whoever writes is sent the call that waits for an approval",
    ),
    Guard(
        "CallsShownInMails",
        f"{_CHANNEL}.rendering",
        "if not letter.shows_calls:",
        "if letter is None:",
        "whoever writes is sent the words of an approval",
    ),
    Guard(
        "AnswersRepeated",
        f"{_CHANNEL}.channel",
        "return not utterance.text.strip()",
        "return True",
        "an answer that may have arrived is sent again",
    ),
    Guard(
        "SubjectsBeginHeaders",
        f"{_DOMAIN}.address",
        'line = unicodedata.normalize("NFC", " ".join(shown.split()))',
        "line = value_with_surrogates_joined(text).strip()",
        "a stranger's subject adds a recipient to the answer",
    ),
    Guard(
        "AnswersNotMarked",
        f"{_CHANNEL}.rendering",
        '"Auto-Submitted: auto-replied",',
        "",
        "other programs cannot know that an agent wrote",
    ),
    Guard(
        "AnswersToTheNewest",
        f"{_CHANNEL}.channel",
        "self._post.send(letter.alias, letter.address, content)",
        "self._post.send(letter.alias, f'{letter.address},victim@elsewhere.example', content)",
        "an answer goes to somebody who did not write",
    ),
)

EMAIL_GUARDS = (*_SENDERS, *_PROGRAMS, *_WORDS, *_THREADS, *_ANSWERS)
