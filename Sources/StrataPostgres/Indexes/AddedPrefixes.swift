import StrataCore

/// The text attributes whose first characters some added index holds. Statements compare these, too, so that the server can use the index.
///
/// Only a hint: a program that does not know of an index yet gets the same answers without it. May be used from any thread.
final class AddedPrefixes: Sendable {
  private struct State {
    var paths: Set<String> = []
    /// The count of changes that `paths` is of.
    var changes: Int64 = -1
  }

  private let state = Mutex(State())

  /// - Parameter path: What the attribute is called in the model, `Entity.attribute`, where it is declared.
  func contains(_ path: String) -> Bool { state.withLock { $0.paths.contains(path) } }

  /// Whether that count of changes is another one than what is known here.
  func isBehind(_ changes: Int64) -> Bool { state.withLock { $0.changes != changes } }

  /// Takes over what a store has of added indexes.
  func set(_ listing: IndexTable.Listing, _ mapping: StoreMapping) {
    var paths: Set<String> = []
    for added in listing.indexes {
      // Of another version of the model, or of Strata.
      guard let index = try? added.checked(mapping.schema) else { continue }
      let table = mapping.table(ofEntity: index.owner)
      for column in index.parts.compactMap({ table.column(index.owner, $0.slot) }) where column.type == .text
      {
        paths.insert(column.path)
      }
    }
    state.withLock { $0 = State(paths: paths, changes: listing.changes) }
  }
}
