/// Answers that never change, kept by the question. May be used from any thread.
final class Memo: Sendable {
  private let answers = Mutex<[Question: any Sendable]>([:])

  private struct Question: Hashable, @unchecked Sendable {
    // @unchecked Sendable: a key is a value, or an object that never changes.
    let key: AnyHashable
    let answer: ObjectIdentifier
  }

  /// The answer to `key`: the one that is known, or what `find` returns, which is kept. An error is not kept. Two threads may both ask `find`; the
  /// first answer counts.
  func answer<Key: Hashable, Answer: Sendable>(to key: Key, _ find: () throws -> Answer) rethrows -> Answer {
    let question = Question(key: AnyHashable(key), answer: ObjectIdentifier(Answer.self))
    if let known = answers.withLock({ $0[question] }) as? Answer { return known }
    let found = try find()
    return answers.withLock { answers in
      if let first = answers[question] as? Answer { return first }
      answers[question] = found
      return found
    }
  }
}
