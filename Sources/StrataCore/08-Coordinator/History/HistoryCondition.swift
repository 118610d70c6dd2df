import Foundation

/// What a key of a transaction or a change leads to.
enum HistoryValue {
  case value(AttributeValue)
  case object(ManagedObjectID)
  case token(PersistentHistoryToken)
  case many([HistoryValue])

  static func text(_ text: String?) -> HistoryValue { .value(text.map { .string($0) } ?? .null) }
}

/// Something that a predicate of a history request looks at.
protocol HistorySubject {
  func value(_ keys: ArraySlice<String>) throws -> HistoryValue
  /// What a sub-query looks at one by one.
  func members(_ keys: [String]) throws -> [any HistorySubject]
}

extension HistorySubject {
  func members(_ keys: [String]) throws -> [any HistorySubject] { throw unknownKey(keys[...]) }

  func unknownKey(_ keys: ArraySlice<String>) -> CoreDataError {
    CoreDataError(
      .coreData, "History has nothing called “\(keys.joined(separator: "."))” that could be compared.")
  }
}

/// A transaction before its changes are read.
struct HistoryCandidate: HistorySubject {
  let number: UInt64
  let header: HistoryHeader
  let storeIdentifier: UUID

  func value(_ keys: ArraySlice<String>) throws -> HistoryValue {
    guard let key = keys.first, keys.count == 1 else { throw unknownKey(keys) }
    switch key {
    case "author": return .text(header.origin.author)
    case "contextName": return .text(header.origin.contextName)
    case "bundleID": return .text(header.bundleIdentifier)
    case "processID": return .text(header.processName)
    case "storeID": return .text(storeIdentifier.uuidString)
    case "timestamp": return .value(.date(header.timestamp))
    case "transactionNumber": return .value(.integer(Int64(truncatingIfNeeded: number)))
    case "token":
      return .token(PersistentHistoryToken(storeIdentifier: storeIdentifier, HistoryMoment(number: number)))
    default: throw unknownKey(keys)
    }
  }
}

extension PersistentHistoryTransaction: HistorySubject {
  func value(_ keys: ArraySlice<String>) throws -> HistoryValue {
    switch keys.first {
    case "author": return .text(author)
    case "contextName": return .text(contextName)
    case "bundleID": return .text(bundleID)
    case "processID": return .text(processID)
    case "storeID": return .text(storeID)
    case "timestamp": return .value(.date(timestamp))
    case "transactionNumber": return .value(.integer(transactionNumber))
    case "token": return .token(token)
    case "changes": return .many(try (changes ?? []).map { try $0.value(keys.dropFirst()) })
    default: throw unknownKey(keys)
    }
  }

  func members(_ keys: [String]) throws -> [any HistorySubject] {
    if keys != ["changes"] { throw unknownKey(keys[...]) }
    return changes ?? []
  }
}

extension PersistentHistoryChange: HistorySubject {
  func value(_ keys: ArraySlice<String>) throws -> HistoryValue {
    switch keys.first {
    // The change itself: what @count counts.
    case nil, "changedObjectID": return .object(changedObjectID)
    case "changeID": return .value(.integer(changeID))
    case "changeType": return .value(.integer(Int64(changeType.rawValue)))
    case "changedEntity": return .text(entity.name)
    case "updatedProperties":
      return .many(changeType == .update ? updatedPropertyNames.sorted().map { .text($0) } : [])
    case "tombstone":
      let value = tombstone?[keys.dropFirst().joined(separator: ".")]
      return .value(value.flatMap { AttributeValue($0, type: .undefined) } ?? .null)
    case "transaction":
      guard let transaction else { return .value(.null) }
      return try transaction.value(keys.dropFirst())
    default: throw unknownKey(keys)
    }
  }
}

/// A predicate of a history request, evaluated for one transaction or change in memory.
///
/// Values are compared as everywhere (``ComparedValues``); tokens by the number of commits of the store that the transaction is in.
struct HistoryCondition {
  private let predicate: FetchPredicate

  init(_ predicate: FetchPredicate) { self.predicate = predicate }

  /// Whether it can be decided before the changes of a transaction are read.
  var needsChanges: Bool { Self.mentionsChanges(predicate) }

  private static func mentionsChanges(_ predicate: FetchPredicate) -> Bool {
    switch predicate {
    case .compare(let comparison): mentionsChanges(comparison.left) || mentionsChanges(comparison.right)
    case .and(let parts), .or(let parts): parts.contains(where: mentionsChanges)
    case .not(let part): mentionsChanges(part)
    case .everything, .nothing, .foundation: false
    }
  }

  private static func mentionsChanges(_ expression: FetchExpression) -> Bool {
    switch expression {
    case .keyPath(let base, let keys): keys.first == "changes" || mentionsChanges(base)
    case .list(let parts), .function(_, let parts): parts.contains(where: mentionsChanges)
    case .aggregate(_, let part): mentionsChanges(part)
    case .subquery(let members, _, let predicate): mentionsChanges(members) || mentionsChanges(predicate)
    default: false
    }
  }

  /// What the variables of sub-queries stand for.
  private typealias Bound = [String: any HistorySubject]

  /// - Throws: `CoreDataError` 134060 for keys that there are not, and for expressions that only objects have.
  func isTrue(_ subject: some HistorySubject) throws -> Bool { try Self.isTrue(predicate, subject, [:]) }

  private static func isTrue(
    _ predicate: FetchPredicate, _ subject: some HistorySubject, _ bound: Bound
  ) throws -> Bool {
    switch predicate {
    case .everything: return true
    case .nothing: return false
    case .foundation(let predicate):
      throw CoreDataError(
        .coreData, "A predicate of a history request cannot be \(predicate), which is about objects.")
    case .and(let parts): return try parts.allSatisfy { try isTrue($0, subject, bound) }
    case .or(let parts): return try parts.contains { try isTrue($0, subject, bound) }
    case .not(let part): return try !isTrue(part, subject, bound)
    case .compare(let comparison):
      let left = try value(comparison.left, subject, bound)
      let right = try value(comparison.right, subject, bound)
      guard comparison.quantifier != .direct else { return try isTrue(comparison, left, right) }
      guard case .many(let elements) = left else { return try isTrue(comparison, left, right) }
      return comparison.quantifier == .any
        ? try elements.contains { try isTrue(comparison, $0, right) }
        : try elements.allSatisfy { try isTrue(comparison, $0, right) }
    }
  }

  private static func isTrue(_ comparison: FetchComparison, _ left: HistoryValue, _ right: HistoryValue)
    throws
    -> Bool
  {
    let operation = comparison.operation
    switch (operation, left, right) {
    case (.in, _, .many(let elements)):
      return try elements.contains { try isTrue(left, .equal, $0, comparison.options) }
    case (.contains, .many(let elements), _):
      return try elements.contains { try isTrue($0, .equal, right, comparison.options) }
    case (.between, _, .many(let bounds)) where bounds.count == 2:
      return try isTrue(left, .greaterOrEqual, bounds[0], comparison.options)
        && isTrue(left, .lessOrEqual, bounds[1], comparison.options)
    case (.in, _, _), (.between, _, _):
      throw CoreDataError(.coreData, "\(operation) needs several values on its right side.")
    default: return try isTrue(left, operation, right, comparison.options)
    }
  }

  private static func isTrue(
    _ left: HistoryValue, _ operation: ComparisonOperator, _ right: HistoryValue,
    _ options: FetchComparison.StringOptions
  ) throws -> Bool {
    switch (left, right) {
    case (.token(let token), _): return isTrue(token, operation, right)
    case (_, .token(let token)): return isTrue(token, operation.mirrored, left)
    case (.value(let left), .value(let right)):
      return try ComparedValues.isTrue(left, operation, right, options)
    case (.object(let left), .object(let right)):
      return operation == .equal ? left == right : operation == .notEqual && left != right
    default: return operation == .notEqual
    }
  }

  private static func isTrue(
    _ token: PersistentHistoryToken, _ operation: ComparisonOperator, _ other: HistoryValue
  ) -> Bool {
    guard case .value(.string(let text)) = other, let other = PersistentHistoryToken(text: text),
      token.commitNumbers.keys.allSatisfy({ other.commitNumbers[$0] != nil })
    else { return operation == .notEqual }
    let pairs = token.commitNumbers.map { ($1, other.commitNumbers[$0] ?? 0) }
    switch operation {
    case .equal: return pairs.allSatisfy { $0 == $1 }
    case .notEqual: return !pairs.allSatisfy { $0 == $1 }
    case .less: return pairs.allSatisfy { $0 <= $1 } && !pairs.allSatisfy { $0 == $1 }
    case .lessOrEqual: return pairs.allSatisfy { $0 <= $1 }
    case .greater: return pairs.allSatisfy { $0 >= $1 } && !pairs.allSatisfy { $0 == $1 }
    case .greaterOrEqual: return pairs.allSatisfy { $0 >= $1 }
    default: return false
    }
  }

  private static func value(
    _ expression: FetchExpression, _ subject: some HistorySubject, _ bound: Bound
  ) throws -> HistoryValue {
    switch expression {
    case .constant(let value): return .value(value)
    case .entity(let name): return .value(.string(name))
    case .list(let parts): return .many(try parts.map { try value($0, subject, bound) })
    case .objects(let identifiers):
      return identifiers.count == 1 ? .object(identifiers[0]) : .many(identifiers.map { .object($0) })
    case .keyPath(base: .evaluatedObject, let keys): return try subject.value(keys[...])
    case .variable(let name):
      if let member = bound[name] { return try member.value([]) }
    case .keyPath(base: .variable(let name), let keys):
      if let member = bound[name] { return try member.value(keys[...]) }
    case .subquery(let members, let variable, let predicate):
      return .many(try found(members, variable, predicate, subject, bound).map { try $0.value([]) })
    case .keyPath(base: .subquery(let members, let variable, let predicate), let keys):
      return .many(
        try found(members, variable, predicate, subject, bound).map { try $0.value(keys[...]) })
    case .aggregate(.count, let part):
      guard case .many(let elements) = try value(part, subject, bound) else { break }
      return .value(.integer(Int64(elements.count)))
    case .function(let function, let arguments) where function != .distinct:
      let values = try arguments.map { argument -> AttributeValue in
        guard case .value(let value) = try value(argument, subject, bound) else { return .null }
        return value
      }
      return .value(ComparedValues.value(function, values))
    default: break
    }
    throw CoreDataError(
      .coreData, "A predicate of a history request cannot use “\(expression)”, which only objects have.")
  }

  /// Those members for which the predicate of a sub-query is true.
  private static func found(
    _ members: FetchExpression, _ variable: String, _ predicate: FetchPredicate,
    _ subject: some HistorySubject, _ bound: Bound
  ) throws -> [any HistorySubject] {
    guard case .keyPath(base: .evaluatedObject, let keys) = members else {
      throw CoreDataError(
        .coreData, "A sub-query of a history request looks at “changes”, not at “\(members)”.")
    }
    return try subject.members(keys).filter { member in
      try isTrue(predicate, subject, bound.merging([variable: member]) { $1 })
    }
  }

  /// How the values of `key` are sorted: less than 0 when `left` comes first.
  static func order(
    _ left: some HistorySubject, _ right: some HistorySubject, by key: String, _ comparator: TextCollation
  ) throws -> Int {
    let keys = key.split(separator: ".").map(String.init)[...]
    switch (try left.value(keys), try right.value(keys)) {
    case (.value(let left), .value(let right)): return comparator.order(left, right)
    case (.token(let left), .token(let right)):
      if left.commitNumbers == right.commitNumbers { return 0 }
      return left.commitNumbers.allSatisfy { $1 <= right.commitNumbers[$0] ?? 0 } ? -1 : 1
    case (.object(let left), .object(let right)):
      return left.description < right.description ? -1 : left == right ? 0 : 1
    default: throw CoreDataError(.coreData, "History cannot be sorted by “\(key)”.")
    }
  }
}

extension ComparisonOperator {
  /// The operator with both sides exchanged.
  fileprivate var mirrored: ComparisonOperator {
    switch self {
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: self
    }
  }
}
