/// How many objects of the store a migration would take something away from.
///
/// One walk over the rows of the hierarchies that are concerned, in the view that the migration itself reads; memory for the numbers only.
struct LossCount {
  private let plan: LossPlan
  private let rows: SourceRows
  private let progress: BatchProgress
  /// By number of the loss.
  private(set) var counts: [Int]

  init(_ plan: LossPlan, _ rows: SourceRows, progress: BatchProgress) {
    self.plan = plan
    self.rows = rows
    self.progress = progress
    counts = [Int](repeating: 0, count: plan.losses.count)
  }

  /// Whether anything would be lost. Looks no further than the first object that loses something.
  mutating func findsAny() throws -> Bool {
    try run { counts in counts.contains { $0 > 0 } }
    return counts.contains { $0 > 0 }
  }

  /// Counts them all.
  mutating func run() throws { try run { _ in false } }

  private mutating func run(until isEnough: ([Int]) -> Bool) throws {
    for hierarchy in rows.plan.source.hierarchies
    where hierarchy.memberNumbers.contains(where: { !plan.places[$0].isEmpty }) {
      var next: UInt64? = 0
      while let key = next {
        var steps = 0
        var counts = counts
        next = try rows.walk(hierarchy.number, from: key) { row, key, reader, transaction in
          steps += 1
          var isFound = false
          for (loss, place) in plan.places[row.entity] where try isThere(place, row, key, reader, transaction)
          {
            counts[loss] += 1
            isFound = true
          }
          return steps < RowMigration.rowsPerStep && !(isFound && isEnough(counts))
        }
        self.counts = counts
        if isEnough(counts) { return }
        try progress.stopIfCancelled()
      }
    }
  }

  private func isThere(
    _ place: LossPlan.Place, _ row: StoredRow, _ key: UInt64, _ reader: RowReader,
    _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    switch place {
    case .row: return true
    case .slot(let slot): return !RowBytes.isNil(row.base, slot)
    case .members(let path, let least, let kept):
      let members = try rows.members(path, of: row, key, reader, transaction)
      return kept.isEmpty
        ? members.count >= least : members.count { !kept.contains($0.entity) } >= least
    }
  }
}
