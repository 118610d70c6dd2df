import Foundation
import StrataCore
import struct Synchronization.Atomic

/// A connection on which indexes of a store are built and dropped, which takes as long as it takes. Used by one thread at a time; `giveUp` from any.
///
/// ```
///   turn      one session for all indexes of a store: two that build at once would wait for each other's views of the table
///   drop      what a builder has left behind that was killed
///   create    CONCURRENTLY: others read and write meanwhile
///   tell      all programs
/// ```
final class IndexSession: Sendable {
  private let table: IndexTable
  private let connection: PostgresConnection
  private let canceller: StatementCanceller
  private let isGivenUp = Atomic<Bool>(false)

  /// The server's number of the session.
  let backend: Int32

  init(_ table: IndexTable, _ connection: PostgresConnection) throws {
    self.table = table
    self.connection = connection
    canceller = try connection.canceller()
    backend = connection.backend
    // A role or a database may have limits that are meant for other statements.
    try connection.runText("SET statement_timeout = 0; SET lock_timeout = 0")
  }

  /// Ends what is being done, which throws `CancellationError` then. To be called again until it has ended: the statement may only be on its way.
  func giveUp() {
    isGivenUp.store(true, ordering: .releasing)
    canceller.cancel()
  }

  private func requireWanted() throws {
    if isGivenUp.load(ordering: .acquiring) { throw CancellationError() }
  }

  private func run(_ text: String) throws {
    try requireWanted()
    do {
      try connection.runText(text)
    } catch let error as SQLError where error.state == "57014" {
      try requireWanted()
      throw error
    }
  }

  /// Whether it is this session's turn, which it keeps to its end.
  func takeTurn() throws -> Bool {
    try requireWanted()
    return try AdvisoryLock.indexes(of: table.mapping.namespace).attempt(on: connection)
  }

  /// Asks again and again: who waits for a lock within a statement keeps another session from ending its index.
  func waitForTurn() throws {
    while try !takeTurn() { Thread.sleep(forTimeInterval: 0.02) }
  }

  func entry(_ name: String) throws -> IndexTable.Entry? {
    try table.entries(connection.run(table.question(name))).first
  }

  func entries() throws -> [IndexTable.Entry] { try table.entries(connection.run(table.question())) }

  /// So often the server may end the building in favour of others.
  private static let mostAttempts = 5

  /// Builds an index; false when it is not wanted any more. Only in turn.
  /// - Throws: ``SQLError``, ``StorageError``; `CancellationError` after `giveUp`. Half an index is left behind then, which nobody uses.
  func build(_ added: AddedIndex, _ index: IndexSchema) throws -> Bool {
    var made: String?
    var attempts = 0
    while true {
      let entry = try entry(added.qualifiedName)
      // A migration, which has made it in its own way, may have been waited for.
      if let made, entry?.relation != made { try run(table.drop(made)) }
      guard let entry, entry.isWanted, entry.added == added else { return false }
      if entry.isValid {
        if made != nil { finish(index, added) }
        return true
      }
      if entry.isThere { try run(table.drop(entry.relation)) }
      guard let text = table.creation(index, relation: entry.relation, isConcurrent: true) else {
        return false
      }
      do {
        made = entry.relation
        try run(text)
      } catch let error as SQLError where error.isWorthAnotherTry && attempts < Self.mostAttempts {
        attempts += 1
      }
    }
  }

  /// The index is complete, whatever fails from here on.
  private func finish(_ index: IndexSchema, _ added: AddedIndex) {
    let owner = table.mapping.table(ofEntity: index.owner)
    do {
      // Of the first characters of texts the server knows nothing yet.
      let isOfTexts = index.parts.contains { owner.column(index.owner, $0.slot)?.type == .text }
      if isOfTexts { try run("ANALYZE \(owner.name)") }
      try connection.run(table.telling())
    } catch {
      Diagnostics.write(
        "the index \(added.qualifiedName) is complete; programs that have the store open may learn of it when they open it next: \(error)",
        .error)
    }
  }

  /// Drops an index that is not wanted any more, and forgets it. Only in turn.
  /// - Throws: as ``build(_:_:)``; it stays unwanted then.
  func drop(_ name: String) throws {
    guard let entry = try entry(name), !entry.isWanted else { return }
    try run(table.drop(entry.relation))
    try connection.run([table.removal(name, relation: entry.relation)] + table.telling())
  }
}
