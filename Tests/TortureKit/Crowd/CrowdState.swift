import Strata

/// What a crowd's store holds at one moment: how many saves each worker has made. Made only when everything else follows.
public struct CrowdState: Sendable, Hashable {
  /// By worker, its last save.
  public private(set) var lastSaves: [Int: Int] = [:]

  /// How many saves were made in all.
  public var total: Int { lastSaves.values.reduce(0, +) }

  /// Reads everything in one fetch and compares. On the context's queue, which must have no objects of before.
  ///
  /// Histories are too large for their rows and read after the fetch: while others write they may be newer than the rest. They
  /// only grow, so that their beginnings are compared.
  ///
  /// - Throws: ``TortureViolation`` for any contradiction.
  public init(reading context: ManagedObjectContext, whileOthersWrite: Bool) throws {
    var counters: [Int: Int] = [:]
    var histories: [Int: String] = [:]
    var notes: [Int: Set<Int>] = [:]
    for fact in try context.fetch(FetchRequest<Fact>(entityName: "Fact")) {
      let isNew: Bool
      switch fact.kind {
      case .counter: isNew = counters.updateValue(fact.number, forKey: fact.owner) == nil
      case .history: isNew = histories.updateValue(fact.text ?? "", forKey: fact.owner) == nil
      case .note:
        let save = CrowdSave(worker: fact.owner, number: fact.number)
        isNew = notes[save.worker, default: []].insert(save.number).inserted
        // Notes never change: even a large one is what it was.
        guard fact.text == save.text else {
          throw TortureViolation("note \(save.entry)says \(fact.text ?? "nothing")")
        }
      case nil: throw TortureViolation("\(fact) is of no kind")
      }
      guard isNew else { throw TortureViolation("\(fact) is there twice") }
    }
    for (worker, numbers) in notes {
      let last = numbers.max() ?? 0
      guard numbers.count == last, numbers.min() == 1 else {
        let missing = Set(1...last).subtracting(numbers).sorted()
        throw TortureViolation("worker \(worker) has made \(last) saves, notes \(missing) are missing")
      }
      lastSaves[worker] = last
    }
    for subject in 0..<Crowd.subjects {
      try compare(subject, counters[subject], histories[subject], whileOthersWrite)
    }
  }

  /// Every save that concerns a subject stands once in its history, those of each worker in their order, and was counted once.
  private func compare(
    _ subject: Int, _ counter: Int?, _ history: String?, _ whileOthersWrite: Bool
  ) throws {
    guard let counter, let history, let entries = CrowdSave.parse(history) else {
      throw TortureViolation("counter or history \(subject) is missing or none")
    }
    guard entries.count == counter || whileOthersWrite && entries.count > counter else {
      throw TortureViolation("counter \(subject) says \(counter), its history has \(entries.count) entries")
    }
    var byWorker: [Int: [Int]] = [:]
    for entry in entries.prefix(counter) { byWorker[entry.worker, default: []].append(entry.number) }
    for worker in Set(byWorker.keys).union(lastSaves.keys) {
      let last = lastSaves[worker] ?? 0
      let expected = (0..<last).map { $0 + 1 }.filter {
        CrowdSave(worker: worker, number: $0).subjects.contains(subject)
      }
      guard byWorker[worker] ?? [] == expected else {
        throw TortureViolation(
          "history \(subject) has \(byWorker[worker] ?? []) of worker \(worker), whose saves demand \(expected)"
        )
      }
    }
  }
}
