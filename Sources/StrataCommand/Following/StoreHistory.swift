import Foundation
import StrataCore

/// The history of a store, read without writing anything.
enum StoreHistory {
  /// Calls `body` with a coordinator that has the store, of the model that it carries.
  static func read<R>(_ path: String, _ body: (PersistentStoreCoordinator) throws -> R) throws -> R {
    let model = try StorePath.model(path)
    KeptTransformer.register(for: model)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let opened = try coordinator.addPersistentStore(try StorePath.description(path))
    // It is attached, so it can be removed.
    defer { try? coordinator.remove(opened) }
    return try body(coordinator)
  }

  /// A token as `strata history --json` and `strata watch` write it.
  static func token(_ text: String) throws -> PersistentHistoryToken {
    guard let data = try? JSONEncoder().encode(text),
      let token = try? JSONDecoder().decode(PersistentHistoryToken.self, from: data)
    else {
      throw Failure(
        .usage, "“\(text)” is no history token.",
        advice: "It is written as “strata history --json” prints it: \"strata-history UUID@NUMBER.MARK\".")
    }
    return token
  }

  // MARK: As text and JSON

  static func line(_ transaction: PersistentHistoryTransaction) -> String {
    var counts: [PersistentHistoryChangeType: Int] = [:]
    for change in transaction.changes ?? [] { counts[change.changeType, default: 0] += 1 }
    let what = [(PersistentHistoryChangeType.insert, "inserted"), (.update, "updated"), (.delete, "deleted")]
      .compactMap { type, word in counts[type].map { "\($0) \(word)" } }.joined(separator: ", ")
    let who = [
      transaction.author.map { "by \($0)" }, transaction.contextName.map { "in \($0)" },
      "from \(transaction.processID)",
    ].compactMap { $0 }.joined(separator: " ")
    let time = transaction.timestamp.formatted(.iso8601)
    return "\(transaction.transactionNumber)  \(time)  \(what)  \(who)".asOneLine
  }

  static func words(_ change: PersistentHistoryChange) -> String {
    let id = change.changedObjectID.uriRepresentation().lastPathComponent
    var words = "\(change.changeType) \(change.changedObjectID.entityName) \(id)"
    if change.changeType == .update {
      words += ": " + change.updatedPropertyNames.sorted().joined(separator: ", ")
    }
    if let tombstone = change.tombstone {
      words += ": " + tombstone.map { "\($0) = \($1)" }.sorted().joined(separator: ", ")
    }
    return words.asOneLine
  }

  /// - Parameter most: Only so many of the changes, with the number of all.
  static func json(_ transaction: PersistentHistoryTransaction, changes: Bool, most: Int? = nil) -> JSONValue
  {
    var members: [(String, JSONValue)] = [
      ("number", .number(Int(transaction.transactionNumber))),
      ("time", .string(ValueText.date(transaction.timestamp))), ("author", .optional(transaction.author)),
      ("context", .optional(transaction.contextName)), ("process", .string(transaction.processID)),
      ("bundle", .string(transaction.bundleID)), ("token", .string(transaction.token.description)),
    ]
    let all = transaction.changes ?? []
    if changes {
      members.append(("changes", .array(all.prefix(most ?? .max).map(json))))
    }
    if !changes || most != nil {
      let counts = PersistentHistoryChangeType.allCases.map { type in
        ("\(type)", JSONValue.number(all.count { $0.changeType == type }))
      }
      members.append(("counts", .object(counts)))
    }
    return .object(members)
  }

  private static func json(_ change: PersistentHistoryChange) -> JSONValue {
    let id = change.changedObjectID
    var members: [(String, JSONValue)] = [
      ("type", .string("\(change.changeType)")),
      ("id", .string("\(id.entityName)/\(id.uriRepresentation().lastPathComponent)")),
    ]
    if change.changeType == .update {
      members.append(("properties", .strings(change.updatedPropertyNames.sorted())))
    }
    if let tombstone = change.tombstone {
      let values = tombstone.map { key, value -> (String, JSONValue) in
        ("\(key)", AttributeValue(value, type: .undefined).map { .value($0) } ?? .string("\(value)"))
      }
      members.append(("tombstone", .object(values.sorted { $0.0 < $1.0 })))
    }
    return .object(members)
  }
}
