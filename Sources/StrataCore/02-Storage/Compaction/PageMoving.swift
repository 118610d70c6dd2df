import Foundation

/// Carries out the moves of a survey, in transactions that are short whatever the size of the store.
struct PageMoving {
  let environment: Environment
  let survey: PageSurvey
  let keyspaces: [Keyspace]
  private var free: PageBits
  /// How many free pages there are below the boundary.
  private var room: Int
  /// Pages of values that no place was found for.
  private(set) var stuckCount = 0
  /// How many pages were moved.
  private(set) var movedCount = 0

  /// So many pages one transaction writes at most, but for one value.
  private static let mostPages = 192
  /// So long one transaction works at most, but for one move.
  private static let mostTime = Duration.milliseconds(6)
  /// A value of more pages is left where it is: it would make others wait.
  static let mostPagesOfValue = 1_024
  /// So often it is looked whether to go on while places are looked for.
  private static let movesBetweenLooks = 4_096
  /// Besides what it moves, a transaction copies branches, the list of keyspaces and the free list.
  private static let pagesPerTransaction = 12

  /// - Parameter usable: The free pages, in ascending order.
  init(_ survey: PageSurvey, of environment: Environment, usable: [UInt64], boundary: Int, pageCount: Int)
    throws
  {
    self.environment = environment
    self.survey = survey
    keyspaces = try environment.keyspaces(survey.names).map { keyspace in
      guard let keyspace else {
        throw StorageError(
          .permission, operation: "mdb_dbi_open", path: environment.path,
          detail: "The store was opened read-only.")
      }
      return keyspace
    }
    free = PageBits(count: pageCount)
    for page in usable where page < pageCount { free.insert(Int(page)) }
    room = free.count(below: boundary)
  }

  /// Moves what there is room for.
  /// - Parameter step: Called with the number of pages after each transaction, and with 0 in between; what it throws ends the moving.
  /// - Throws: what `Environment.write` throws.
  mutating func run(_ step: (Int) throws -> Void) throws {
    let (placed, stuck) = try place { try step(0) }
    stuckCount = stuck
    var moves = (placed + survey.single)[...]
    while !moves.isEmpty, room > 0 {
      let batch = nextBatch(moves)
      let done = try environment.write { [keys = survey.keys, keyspaces] transaction in
        try Self.carryOut(batch, keys, keyspaces, transaction)
      }
      let pages = batch.prefix(done).reduce(0) { $0 + max(1, $1.run.count) }
      room -= pages + Self.pagesPerTransaction
      movedCount += pages
      moves = moves.dropFirst(done)
      try step(pages)
    }
  }

  /// The values of several pages for which there is a place further to the front, and how many pages the others have.
  ///
  /// The longest first. Of one length those that lie furthest to the front first: then each goes on where the one before has found its place.
  private mutating func place(_ step: () throws -> Void) throws -> (placed: [PageSurvey.Move], stuck: Int) {
    var placed: [PageSurvey.Move] = []
    var stuck = 0
    var (size, start) = (0, 0)
    let moves = survey.long.sorted {
      ($1.run.count, $0.run.lowerBound) < ($0.run.count, $1.run.lowerBound)
    }
    for (place, move) in moves.enumerated() {
      if move.run.count != size || place % Self.movesBetweenLooks == 0 { try step() }
      if move.run.count != size { (size, start) = (move.run.count, 0) }
      if size <= Self.mostPagesOfValue,
        free.take(size, endingBy: Int(move.run.lowerBound), from: &start) != nil
      {
        placed.append(move)
      } else {
        stuck += move.run.count
      }
    }
    return (placed, stuck)
  }

  private func nextBatch(_ moves: ArraySlice<PageSurvey.Move>) -> ArraySlice<PageSurvey.Move> {
    var pages = 0
    let batch = moves.prefix { move in
      pages += max(1, move.run.count) + 1
      return pages <= min(Self.mostPages, room)
    }
    return batch.isEmpty ? moves.prefix(1) : batch
  }

  /// Returns how many of the moves were carried out: at least one.
  private static func carryOut(
    _ moves: ArraySlice<PageSurvey.Move>, _ keys: [UInt8], _ keyspaces: [Keyspace],
    _ transaction: borrowing WriteTransaction
  ) throws -> Int {
    let end = ContinuousClock.now + mostTime
    for (index, move) in moves.enumerated() {
      if index > 0, ContinuousClock.now > end { return index }
      let keyspace = keyspaces[move.keyspace]
      switch move.kind {
      case .emptyKeyspace:
        if try transaction.read.entryCount(keyspace) == 0 { try transaction.clear(keyspace) }
      case .entry:
        try keys[move.key].withUnsafeBytes { key in
          // Deleted meanwhile: then its pages are free, or others stand for them.
          guard let value = try transaction.get(keyspace, key) else { return }
          // LMDB may write into the page on which the value lies.
          let copy = Array(value)
          try copy.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
        }
      case .neighbour:
        try (keys[move.key] + [0]).withUnsafeBytes { key in
          guard key.count <= 511, try transaction.get(keyspace, key) == nil else { return }
          try transaction.put(keyspace, key, UnsafeRawBufferPointer(start: nil, count: 0))
          _ = try transaction.delete(keyspace, key)
        }
      }
    }
    return moves.count
  }
}
