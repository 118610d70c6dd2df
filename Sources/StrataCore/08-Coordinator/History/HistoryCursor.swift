import Foundation

/// Reads the history of one attached store, some transactions at a time: nothing is held of it but these.
final class HistoryCursor {
  let binding: StoreBinding
  private let store: any HistoryStore
  private var question: HistoryQuestion
  /// Whether the history must still have everything behind `question.after`.
  private var isBound: Bool
  private var buffer: [StoredHistoryTransaction] = []
  private var place = 0
  private var isAtEnd = false

  /// - Parameter isBound: Whether the history must have everything behind the place where the question begins: a token says that it was there.
  init(_ binding: StoreBinding, _ store: any HistoryStore, _ question: HistoryQuestion, isBound: Bool) {
    self.binding = binding
    self.store = store
    self.question = question
    self.isBound = isBound
  }

  /// The next transaction, which stays the next.
  /// - Throws: `CoreDataError` 134301 when what comes next was deleted since the reading began; `StorageError`.
  func peek() throws -> StoredHistoryTransaction? {
    while place == buffer.count {
      if isAtEnd { return nil }
      let batch = try store.history(question)
      try requireWhole(batch)
      (buffer, place) = (batch.transactions, 0)
      guard let last = batch.last else {
        isAtEnd = true
        continue
      }
      if question.isNewestFirst {
        question.below = last
      } else {
        question.after = last
        // Until something is handed out, it is as if the reading had begun where the history begins by now.
        if !buffer.isEmpty { isBound = true }
      }
    }
    return buffer[place]
  }

  /// A batch says itself what the history had when it was read: another thread or process may delete between two of them.
  private func requireWhole(_ batch: HistoryBatch) throws {
    guard let purged = batch.purged else {
      throw HistoryCursors.expired("The history of the store was ended while it was read.")
    }
    if !isBound || purged <= question.after { return }
    throw HistoryCursors.expired(
      "The history of the store was deleted up to commit \(purged) while it was read, which had come to commit \(question.after)."
    )
  }

  /// Goes on to the one after.
  func advance() { place += 1 }
}

/// Makes changes of what a store keeps of them.
struct HistoryChangeMaker {
  private let binding: StoreBinding
  private let speaksFoundation: Bool
  /// Changes of one transaction are numbered within so many.
  private static let numbersPerTransaction: Int64 = 1 << 28

  init(_ binding: StoreBinding, speaksFoundation: Bool) {
    self.binding = binding
    self.speaksFoundation = speaksFoundation
  }

  func changes(
    of stored: StoredHistoryTransaction, _ transaction: PersistentHistoryTransaction
  ) -> [PersistentHistoryChange]? {
    guard let lists = stored.lists else { return nil }
    var changes: [PersistentHistoryChange] = []
    var number = Int64(truncatingIfNeeded: stored.number) &* Self.numbersPerTransaction
    for list in lists {
      guard let bound = binding.entities[list.entity] else { continue }
      let entity = bound.entity.entityDescription
      func append(
        _ key: UInt64, _ type: PersistentHistoryChangeType, _ names: [String], _ values: [AnyHashable: Any]?
      ) {
        changes.append(
          PersistentHistoryChange(
            number, ManagedObjectID(token: bound.token, primaryKey: key), type, entity, names, values,
            transaction))
        number &+= 1
      }
      switch list.kind {
      case .inserted: for run in list.runs { for key in run { append(key, .insert, [], nil) } }
      case .updated: for run in list.runs { for key in run { append(key, .update, list.names, nil) } }
      case .deleted: for run in list.runs { for key in run { append(key, .delete, [], nil) } }
      case .buried:
        for (key, values) in list.tombstones { append(key, .delete, [], tombstone(values, bound)) }
      }
    }
    return changes
  }

  private func tombstone(
    _ values: [(name: String, value: AttributeValue)], _ bound: BoundEntity
  ) -> [AnyHashable: Any] {
    var result: [String: Any] = [:]
    for (name, value) in values {
      let slot = bound.entity.attributes.first { $0.name == name }
      guard let any = slot.map({ handedOut(value, $0, bound) }) ?? handedOut(value) else { continue }
      Self.put(any, name.split(separator: ".").map(String.init)[...], into: &result)
    }
    return result
  }

  /// As key-value coding hands it out; the bytes of a value whose transformer does not take them.
  private func handedOut(_ value: AttributeValue, _ attribute: AttributeSchema, _ bound: BoundEntity) -> Any?
  {
    if attribute.type == .transformable, case .data(let bytes) = value,
      let made = try? bound.transformers[attribute.slot]?.reverse(bytes)
    {
      return made
    }
    return handedOut(value)
  }

  private func handedOut(_ value: AttributeValue) -> Any? {
    speaksFoundation ? value.foundationValue : value.anyValue
  }

  /// Elements of composite attributes lie in dictionaries.
  private static func put(_ value: Any, _ path: ArraySlice<String>, into result: inout [String: Any]) {
    guard let key = path.first else { return }
    if path.count == 1 {
      result[key] = value
      return
    }
    var inner = result[key] as? [String: Any] ?? [:]
    put(value, path.dropFirst(), into: &inner)
    result[key] = inner
  }
}
