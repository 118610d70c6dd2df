import StrataCore

extension ModelContext {
  /// Inserts a model whose row belongs to no context any more.
  ///
  /// If the store has the row, as of a model whose context has gone, the model shows it from now on, with the edits that were not saved. Otherwise, of a model whose deletion was saved
  /// or that was never saved, there is a new row with the values that the model has, and with it the models that were never saved and that it led to.
  func insertAgain(_ row: ModelRow, _ model: any PersistentModel) {
    var insertion = RepeatedInsertion(context: self)
    let shown = insertion.insert(row)
    if model.modelRow !== shown { shown.adopt(any: model) }
  }

  /// The row of this context that is stored under the identifier of one that belongs to another context, or to none. Nil for one that was never saved, or is gone.
  fileprivate func storedRow(of row: ModelRow) -> ModelRow? {
    let identifier = row.objectID
    guard !identifier.isTemporaryID, let found = existingRow(for: PersistentIdentifier(identifier)),
      type(of: found).modelType == type(of: row).modelType
    else { return nil }
    return found
  }

  /// Whether a row is of the container's model: another container has one of its own, also of the same classes.
  fileprivate func isOwn(_ row: ModelRow) -> Bool {
    let name = row.entity.name
    return name.flatMap { core.coordinator.managedObjectModel.entitiesByName[$0] } === row.entity
  }
}

/// Brings a row that has left its context into another one, or back, with the rows that its relationships lead to and that were never saved.
private struct RepeatedInsertion {
  let context: ModelContext
  /// By a row that has left, the one that there is for it now.
  private var entered: [ObjectIdentifier: ModelRow] = [:]
  /// The same in the order in which their relationships are to be set.
  private var waiting: [(gone: ModelRow, row: ModelRow)] = []
  /// The groups that rows have come from: each ends with the last instance of its rows, and instances are about to show other rows.
  private var groups: [ObjectIdentifier: KeptRows] = [:]

  init(context: ModelContext) { self.context = context }

  /// - Returns: What there is for the row now.
  mutating func insert(_ gone: ModelRow) -> ModelRow {
    let first: ModelRow
    if let living = context.storedRow(of: gone) {
      if living.isDeleted {
        context.rows.revive(living)
        living.takeKept()
      }
      show(living, insteadOf: gone)
      first = living
    } else {
      first = enter(gone)
    }
    // All rows are there before any is related.
    var links: [(row: ModelRow, property: ModelProperty, ends: [ModelRow])] = []
    var place = 0
    while place < waiting.count {
      let (gone, row) = waiting[place]
      place += 1
      let plan = row.plan
      for (property, ends) in gone.takeKept() {
        let here = plan.property(at: property.descriptor.index)
        let rows = ends.compactMap { end($0, of: here) }
        // What cannot be had is not written over what there is.
        if ends.isEmpty || !rows.isEmpty { links.append((row, here, rows)) }
      }
    }
    for (row, property, ends) in links {
      if case .toMany = property.descriptor.kind {
        row.write(ends as [ManagedObject], slot: property.slot)
        row.accompany(ends, property)
      } else {
        row.write(ends.first, slot: property.slot)
        row.accompany(ends.first)
      }
    }
    for (gone, _) in waiting { gone.leaveGroup() }
    for group in groups.values { group.leave() }
    return first
  }

  // MARK: Rows

  /// What a relationship of an inserted row leads to; nil for what is gone.
  private mutating func end(_ end: AnyObject, of property: ModelProperty) -> ModelRow? {
    let row: ModelRow
    if let found = end as? ModelRow {
      row = found
    } else if let model = end as? any PersistentModel {
      // One that was never inserted.
      guard let found = model.modelRow else { return context.row(for: model) }
      row = found
    } else {
      return nil
    }
    if let known = entered[ObjectIdentifier(row)] { return known }
    if let other = row.ownContext {
      if other === context {
        if !row.isDeleted { return row }
        // It was deleted with the one that is back.
        guard property.cascades else { return nil }
        context.rows.revive(row)
        row.takeKept()
        return row
      }
      guard let living = context.storedRow(of: row) else {
        stop(
          "a model was inserted that is related to a \(type(of: row).modelType) of another context, which is not saved: save that first, or set \(property.name) to nil"
        )
      }
      return living.isDeleted ? nil : living
    }
    if let living = context.storedRow(of: row) {
      if living.isDeleted { return nil }
      if !row.isInContext { show(living, insteadOf: row) }
      return living
    }
    return row.isKeptUnsaved && !row.isInContext ? enter(row) : nil
  }

  /// A row that is stored, and whose context has gone: the context's own takes over what was not saved, and the instance.
  private mutating func show(_ living: ModelRow, insteadOf gone: ModelRow) {
    holdGroup(of: gone)
    let edited = gone.changedNames
    if !edited.isEmpty {
      copyAttributes(of: gone, to: living) { edited.contains($0) }
    }
    note(living, for: gone)
    guard let model = gone.knownModel as? any PersistentModel else { return }
    // What the model is hashed by stays.
    if gone._number.hash != .none { _ = living.hashNumber }
    living.adopt(any: model)
    gone.forgetModel()
  }

  /// A row that is not stored becomes a new one.
  private mutating func enter(_ gone: ModelRow) -> ModelRow {
    holdGroup(of: gone)
    let row: ModelRow
    if context.isOwn(gone) {
      row = gone
      if gone.isKeptUnsaved { gone.forgetRelated() }
      gone.renumber()
      (gone._isPinned, gone._isCompanion) = (false, false)
      context.rows.insert(gone)
      if let model = gone.knownModel { context.rows.keep(unsaved: model, of: gone) }
    } else {
      row = copy(gone)
    }
    if row._number.value != 0 { context.temporaryRows.set(row) }
    note(row, for: gone)
    return row
  }

  /// A new row of this container's model for one of another's.
  private func copy(_ gone: ModelRow) -> ModelRow {
    func make<Model: PersistentModel>(_ type: Model.Type) -> ModelRow { context.newRow(of: type) }
    let modelType: any PersistentModel.Type = type(of: gone).modelType
    let row = make(modelType)
    row._plan = context.rows.plan(of: row)
    copyAttributes(of: gone, to: row) { _ in true }
    gone.renumber()
    row._number = gone._number
    gone._number = ModelNumber()
    row._hasOwnState = gone._hasOwnState
    if let model = gone.knownModel as? any PersistentModel {
      row.adopt(any: model)
      gone.forgetModel()
    }
    return row
  }

  private mutating func holdGroup(of gone: ModelRow) {
    guard let group = gone._group, groups.updateValue(group, forKey: ObjectIdentifier(group)) == nil else {
      return
    }
    group.enter()
  }

  private mutating func note(_ row: ModelRow, for gone: ModelRow) {
    entered[ObjectIdentifier(gone)] = row
    waiting.append((gone, row))
  }

  /// The rows are of one class: their properties are the same.
  private func copyAttributes(of gone: ModelRow, to row: ModelRow, _ isWanted: (String) -> Bool) {
    for (old, new) in zip(gone.plan.properties, row.plan.properties) where isWanted(old.name) {
      guard case .attribute = old.descriptor.kind else { continue }
      // Saves refuse it there: read first, it is refused here, too.
      if gone.isObjectedTo(old.slot) { _ = new.codec.readAny(row, new) }
      if let value = old.codec.readAny(gone, old) {
        new.codec.writeAny(value, row, new)
      } else {
        new.codec.writeNothing(row, new)
      }
    }
  }
}
