extension RowDraft {
  /// A draft of its own with the same values, which counts the same slots as set.
  func copy(_ layout: RowLayout) -> RowDraft {
    let copy = RowDraft.make(layout, changed: changed)
    changed.forEach { copy[$0] = self[$0] }
    copy.primitive = primitive
    return copy
  }
}
