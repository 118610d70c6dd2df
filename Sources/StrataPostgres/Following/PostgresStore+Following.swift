import Foundation
import StrataCore

extension PostgresStore: FollowedStore {
  package var followedStore: (any FollowedStore)? { self }

  package var isShared: Bool { true }

  /// Destroyed and made anew, it does not answer for this one any more.
  package var isInPlace: Bool { true }

  package func makeWatch(_ handler: @escaping @Sendable (StoreWatchEvent) -> Void)
    -> (any AnyObject & Sendable)?
  {
    listens ? following.watch(handler) : nil
  }

  package var followingHabits: FollowingHabits {
    var habits = FollowingHabits()
    habits.pollInterval = pollInterval
    // The server tells of every commit; a connection that has silently gone is noticed by its end.
    habits.watchedPollInterval = .seconds(30)
    return habits
  }

  package func commitNumber() throws -> UInt64 {
    var statement = SQLStatement(
      "SELECT s.commit_number FROM \(mapping.qualified("strata_store")) s WHERE s.identifier = ")
    statement += statement.bind(.uuid(identifier), as: .uuid) ?? "NULL"
    return try read { _, connection in
      let result = try connection.run(statement, deadline: self.deadline())
      try HistoryTable(mapping: self.mapping, identifier: self.identifier).requireRow(result)
      guard let number = UInt64(exactly: try result.integer(0, 0)) else { throw SQLResult.damaged }
      return number
    }
  }

  /// The most commits that are read one by one; beyond that anything may have changed.
  private static let mostCommits = 2_048
  /// The most rows that are told one by one at once; beyond that, any of an entity may have changed.
  private static let mostRows = 262_144

  package func journal(after number: UInt64) throws -> JournalReading {
    var statement = SQLStatement()
    let own = statement.bind(writer)
    statement +=
      "SELECT s.commit_number, c.number, c.writer = \(own), CASE WHEN c.writer = \(own) THEN NULL ELSE c.changes::text END, s.index_changes "
      + "FROM \(mapping.qualified("strata_store")) s LEFT JOIN \(mapping.qualified("strata_commit")) c ON c.number > "
    statement += statement.bind(Int64(clamping: number)) + " WHERE s.identifier = "
    statement += (statement.bind(.uuid(identifier), as: .uuid) ?? "NULL") + " ORDER BY c.number LIMIT "
    statement += statement.bind(Self.mostCommits + 1)
    // Not through the connection that listens. A thread that saves asks this, too: it must not wait for that one, which may be dead while the server is well.
    return try read(isCounted: false) { _, connection in
      let result = try connection.run(statement, deadline: self.deadline())
      if result.rowCount > 0, self.mapping.added.isBehind(try result.integer(0, 4)) {
        try self.learnIndexes(connection)
      }
      return try self.journal(after: number, result)
    }
  }

  private func journal(after number: UInt64, _ result: SQLResult) throws -> JournalReading {
    try HistoryTable(mapping: mapping, identifier: identifier).requireRow(result)
    guard let newest = UInt64(exactly: try result.integer(0, 0)) else { throw SQLResult.damaged }
    var reading = JournalReading(newest: newest)
    if newest <= number { return reading }
    if result.rowCount > Self.mostCommits {
      reading.commits.append(unknownCommit(newest))
      return reading
    }
    var told = number
    var left = Self.mostRows
    for row in 0..<result.rowCount where result[row, 1] != nil {
      guard let found = UInt64(exactly: try result.integer(row, 1)), found > told else {
        throw SQLResult.damaged
      }
      // Those in between are not kept any more.
      if found > told + 1 { reading.commits.append(unknownCommit(found - 1)) }
      let isOwn = result[row, 2].map { $0.bytes.first == 1 } ?? false
      var changes = BatchChanges(entityCount: mapping.schema.entities.count)
      if let text = result[row, 3]?.text { try note(text, in: &changes, &left) }
      reading.commits.append(JournaledCommit(number: found, isOwn: isOwn, changes: changes))
      told = found
    }
    if told < newest { reading.commits.append(unknownCommit(newest)) }
    return reading
  }

  private func note(_ text: String, in changes: inout BatchChanges, _ left: inout Int) throws {
    var uncertain: Set<Int> = []
    for change in try NotedChange.list(text) {
      // An entity that another version of the model has.
      guard let entity = mapping.schema.entity(named: change.entity) else { continue }
      let runs = try change.ranges()
      let count = runs.reduce(0) { $0 + Int($1.upperBound - $1.lowerBound) + 1 }
      if count > left {
        uncertain.insert(entity.number)
        continue
      }
      left -= count
      let relationships = Set(entity.relationships.filter(\.isToMany).map(\.name))
      let isRelated = change.properties?.contains { relationships.contains($0) } ?? false
      for run in runs {
        for key in run {
          switch change.kind {
          case .inserted: changes.inserted.append(key, of: entity.number)
          case .updated: changes.updated.append(key, of: entity.number)
          case .related: break
          case .deleted: changes.deleted.append(key, of: entity.number)
          }
          if change.kind == .related || change.kind == .updated && isRelated {
            changes.related.append(key, of: entity.number)
          }
        }
      }
    }
    changes.uncertain = uncertain.sorted()
  }

  package func unknownCommit(_ number: UInt64) -> JournaledCommit {
    var changes = BatchChanges(entityCount: mapping.schema.entities.count)
    changes.uncertain = held.indices.filter { held[$0] }
    return JournaledCommit(number: number, isOwn: false, changes: changes, isUnknown: true)
  }
}
