// Handing changes down, and being notified of them.

/// What a save did, for contexts that merge it.
struct ReferenceSave {
  var written: [Int: ReferenceTreeRow] = [:]
  var inserted: Set<Int> = []
  var deleted: Set<Int> = []
  /// Whether it reached the store.
  var isStored = false
  /// Objects that left the context that saved.
  var gone: [Int] = []
  /// Objects that left its parent.
  var goneBelow: [Int] = []
  /// Named in the did-save notification although nothing was handed down: edited to what they were.
  var unchanged: Set<Int> = []
  /// Named in it although there was nothing left to delete.
  var deletedBefore: Set<Int> = []
  /// Saved as they were, and told of with their rows: whoever hands records to a parent hands these as well.
  var resavedRows: Set<Int> { isStored ? [] : unchanged }
  /// Whether rows travelled, and not only the notification's sets.
  var hasRows: Bool { !written.isEmpty || !deleted.isEmpty || !resavedRows.isEmpty }
}

extension ReferenceNode {
  /// Everything the next save hands down.
  private var pending: [(number: Int, change: ReferenceChange)] {
    let own = leaves.values.filter { !$0.isRowGone }.compactMap { leaf in
      leaf.ownChange.map { (number: leaf.number, change: $0) }
    }
    // What is saved as it was is an update of the parent, and nothing to write.
    let changed = own.filter { parent != nil || !$0.change.changesNothing }
    return (changed + received.map { (number: $0.key, change: $0.value) }).sorted { $0.number < $1.number }
  }

  func save() -> ReferenceSave {
    var result = ReferenceSave()
    result.isStored = parent == nil
    for (number, change) in pending {
      if change.changesNothing {
        let isDropped = parent.map { !$0.lay(number, change, &result) } ?? false
        if isDropped { drop(number, &result) } else { result.unchanged.insert(number) }
        continue
      }
      var row = change.row
      var isDropped = false
      if let parent {
        isDropped = !parent.lay(number, change, &result)
      } else {
        row = write(number, change)
      }
      if isDropped { drop(number, &result) }
      if let row, !isDropped {
        result.written[number] = row
        if change.kind == .insert { result.inserted.insert(number) }
      } else if change.kind == .delete {
        result.deleted.insert(number)
      }
      settle(number, change, row)
    }
    for leaf in leaves.values where leaf.isListed {
      if leaf.own == .delete { result.gone.append(leaf.number) }
      if leaf.own == .delete, leaf.isRowGone { result.deletedBefore.insert(leaf.number) }
      if leaf.own == .update, result.written[leaf.number] == nil, !result.gone.contains(leaf.number) {
        result.unchanged.insert(leaf.number)
      }
      leaf.own = nil
      leaf.edits = [:]
      leaf.isListed = false
    }
    for number in result.gone { leaves[number] = nil }
    received = [:]
    return result
  }

  /// The parent has it not any more: its object goes.
  private func drop(_ number: Int, _ save: inout ReferenceSave) {
    if leaves[number] != nil { save.gone.append(number) }
  }

  /// The store takes it.
  private func write(_ number: Int, _ change: ReferenceChange) -> ReferenceTreeRow? {
    if change.kind == .delete {
      store.rows[number] = nil
      return nil
    }
    guard let row = change.row else { return nil }
    let old = store.rows[number]
    let new = ReferenceTreeRow(values: row.values, version: (old?.version ?? 0) + 1)
    store.rows[number] = new
    store.everStored.insert(number)
    return new
  }

  /// The context's own object shows what was saved.
  private func settle(_ number: Int, _ change: ReferenceChange, _ row: ReferenceTreeRow?) {
    guard let leaf = leaves[number] else { return }
    if change.kind == .delete {
      leaf.own = .delete
    } else if let row {
      leaf.row = row
    }
  }

  /// Lays what a child saves over what is here: value by value; what is deleted here, or gone, stays so. False when it was
  /// dropped.
  private func lay(_ number: Int, _ change: ReferenceChange, _ save: inout ReferenceSave) -> Bool {
    if let leaf = leaves[number], leaf.own != nil {
      return layOverOwn(leaf, change, &save)
    }
    if var mine = received[number] {
      switch (mine.kind, change.kind) {
      case (.delete, _): return change.kind == .delete
      case (.insert, .delete):
        received[number] = nil
        if leaves.removeValue(forKey: number) != nil { save.goneBelow.append(number) }
        return true
      case (_, .delete):
        mine.kind = .delete
        mine.row = nil
      default:
        mine.row = mine.row?.with(change.changes)
        mine.changed.formUnion(change.changed)
      }
      show(number, mine)
      return true
    }
    if change.kind == .insert {
      show(number, change)
      return true
    }
    guard let below = beneath(number) else {
      // An object of a leaf that is nowhere any more goes.
      if change.kind == .delete, leaves.removeValue(forKey: number) != nil { save.goneBelow.append(number) }
      return change.kind == .delete
    }
    let row = change.changesNothing ? below : below.with(change.changes)
    show(
      number,
      ReferenceChange(
        kind: change.kind, row: change.kind == .delete ? nil : row, base: below, changed: change.changed))
    return true
  }

  private func layOverOwn(_ leaf: ReferenceLeaf, _ change: ReferenceChange, _ save: inout ReferenceSave)
    -> Bool
  {
    switch (leaf.own, change.kind) {
    case (.delete, _): return change.kind == .delete
    case (.insert, .delete):
      leaves[leaf.number] = nil
      save.goneBelow.append(leaf.number)
    case (_, .delete): leaf.own = .delete
    default: leaf.edits.merge(change.changes) { $1 }
    }
    return true
  }

  /// What a child saved is here now, and the object shows it.
  private func show(_ number: Int, _ change: ReferenceChange) {
    received[number] = change
    guard let leaf = leaves[number] else { return }
    if change.kind == .delete {
      if leaf.isFault, leaf.row != nil { leaf.isFault = false }
    } else {
      leaf.row = change.row
    }
  }

  // MARK: Merging

  /// Another context has saved. `hasRows`: the rows themselves travel, not only the names of the changed ones.
  func merge(_ save: ReferenceSave, hasRows: Bool) {
    let resaved = hasRows ? save.resavedRows : save.unchanged
    for number in Set(save.written.keys).union(resaved).sorted() {
      guard let leaf = mergeTarget(number), let row = newest(number, save, hasRows: hasRows) else { continue }
      take(row, leaf, isTold: hasRows)
    }
    for number in save.deleted.union(hasRows ? [] : save.deletedBefore).sorted() {
      guard let leaf = mergeTarget(number), leaf.own != .insert else { continue }
      // A context below has it all the same.
      if let parent, parent.hasUnsaved(number), beneath(number) != nil { continue }
      if leaf.isFault, leaf.row != nil { leaf.isFault = false }
      leaf.isRowGone = true
      leaf.vanish()
    }
  }

  private func newest(_ number: Int, _ save: ReferenceSave, hasRows: Bool) -> ReferenceTreeRow? {
    if let parent, parent.hasUnsaved(number) {
      // Versions count stored rows.
      return beneath(number).map { ReferenceTreeRow(values: $0.values) }
    }
    if hasRows, save.isStored { return save.written[number] }
    return store.rows[number]
  }

  /// Whether this context, or one below, has unsaved changes of a leaf.
  private func hasUnsaved(_ number: Int) -> Bool {
    change(number) != nil || parent?.hasUnsaved(number) ?? false
  }

  private func mergeTarget(_ number: Int) -> ReferenceLeaf? {
    if received[number] != nil { claim(leaf(number)) }
    return leaves[number]
  }

  private func take(_ row: ReferenceTreeRow, _ leaf: ReferenceLeaf, isTold: Bool) {
    // A row that was read now is there, whatever was said before.
    let isBack = !isTold && leaf.isRowGone
    if !isBack, let old = leaf.row?.version, let new = row.version, old >= new { return }
    if leaf.isRowGone { leaf.comeBack() }
    // A fault without a row reads the newest one when it is fired.
    if isTold, leaf.isFault, leaf.row == nil { return }
    leaf.dropSettledEdits()
    leaf.row = row
  }
}
