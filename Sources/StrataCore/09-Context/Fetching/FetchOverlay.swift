/// A context's unsaved changes as one request sees them: what they add to the store's answer and what they take away.
struct FetchOverlay {
  /// New and edited objects that match by the values they have now.
  var matching: [ManagedObject] = []
  /// Rows that children or contexts below have not saved, and that match.
  var rows: [FetchMatch] = []
  /// How many stored rows are hidden, being edited or deleted here.
  var hidden = 0
  /// The layers of the context itself, newest first, as they were when the fetch began.
  var ownLayers: [StratumLayer] = []
  /// Those of the contexts below, newest first.
  var layersBelow: [StratumLayer] = []
  /// The keys of stored rows that unsaved rows hide, by store.
  var hiddenKeys: [Int: Set<UInt64>] = [:]
  /// Whether what is not saved may have a say in whether stored rows match, or where they stand: objects that they refer to have
  /// been changed.
  var isDisturbed = false

  var isEmpty: Bool {
    matching.isEmpty && rows.isEmpty && hidden == 0 && hiddenKeys.isEmpty && !isDisturbed
  }
  /// How many stored rows are hidden in all.
  var hiddenCount: Int { hiddenKeys.values.reduce(hidden) { $0 + $1.count } }
}
