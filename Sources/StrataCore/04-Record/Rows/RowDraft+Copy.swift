extension RowDraft {
  /// A draft of its own with the same values, cell by cell, which counts the same slots as set.
  func copy(_ layout: RowLayout) -> RowDraft {
    let copy = RowDraft.make(layout, changed: changed)
    copy.pointers.takeValues(of: pointers)
    copy.primitive = primitive
    return copy
  }
}
