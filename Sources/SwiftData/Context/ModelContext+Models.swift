import StrataCore

extension ModelContext {
  // MARK: Inserting

  /// Registers a new model, and every model without a context that its relationships lead to. The next save stores them.
  ///
  /// A model that is in the context already stays as it is; one that was deleted and not saved is back. One whose context has gone comes over: if it is stored, this context shows it
  /// from now on, with the edits that were not saved; if not, it is new here, with the unsaved models that it led to. Stops the process for a model of another context, and for one
  /// whose class is not in the container's schema.
  public func insert<T>(_ model: T) where T: PersistentModel {
    settleExpected(but: model)
    guard var draft = (model.persistentBackingData as AnyObject) as? AnyDraft, draft.successor == nil else {
      if let row = model.modelRow { return insert(row, again: model) }
      stop("\(type(of: model)) has backing data of its own making, which no context can insert")
    }
    if !draft.hasRelationships, type(of: model) == T.self {
      // The class is known: what follows is nothing but new attributes.
      _ = makeRow(draft, ofOwnClass: model)
      SpareDraft.retire(&draft)
    } else {
      insert(draft, of: model)
    }
    noteChange()
  }

  private func insert(_ row: ModelRow, again model: any PersistentModel) {
    if let context = row.ownContext {
      guard context === self else {
        stop(
          "a \(type(of: model)) of another context was inserted: pass its persistentModelID, and ask this context for model(for:)"
        )
      }
      // Whoever deletes and inserts wants what was there before.
      if row.isDeleted {
        rows.revive(row)
        row.takeKept()
      }
    } else if row.isInContext {
      stop(
        "a \(type(of: model)) of a managed object context was inserted whose ModelContext has gone, or that is above one: pass its persistentModelID, and ask this context for model(for:)"
      )
    } else {
      // Deleted and saved, taken back, or of a context that has gone.
      insertAgain(row, model)
    }
    noteChange()
  }

  /// The row of a model that is to be related to one of this context.
  func row<T: PersistentModel>(for model: T) -> ModelRow {
    if let row = model.modelRow, let context = row.ownContext {
      if context === self { return row }
      stop(
        "a \(type(of: model)) of another context was given to a relationship: pass its persistentModelID, and ask this context for model(for:)"
      )
    }
    insert(model)
    if let row = model.modelRow { return row }
    stop("a \(type(of: model)) could not be inserted")
  }

  /// Makes rows for a draft and for all drafts that it leads to, then relates them.
  private func insert(_ first: AnyDraft, of model: any PersistentModel) {
    if !first.hasRelationships {
      _ = makeRow(first, of: model)
      first.forget()
      return
    }
    var pending: [(draft: AnyDraft, model: any PersistentModel)] = [(first, model)]
    var found: Set<ObjectIdentifier> = [ObjectIdentifier(first)]
    var place = 0
    while place < pending.count {
      for entry in pending[place].draft.entries {
        let related: [AnyObject]
        switch entry.value {
        case .toOne(let object): related = object.map { [$0] } ?? []
        case .toMany(let objects): related = objects ?? []
        default: continue
        }
        for object in related {
          guard let model = object as? any PersistentModel, let draft = model.draft,
            found.insert(ObjectIdentifier(draft)).inserted
          else { continue }
          pending.append((draft, model))
        }
      }
      place += 1
    }
    let made = pending.map { makeRow($0.draft, of: $0.model) }
    for (row, (draft, _)) in zip(made, pending) { relate(row, draft) }
  }

  private func makeRow(_ draft: AnyDraft, of model: any PersistentModel) -> ModelRow {
    func make<Model: PersistentModel>(_ type: Model.Type) -> ModelRow {
      // It is an instance of its own class.
      makeRow(draft, ofOwnClass: unsafeDowncast(model as AnyObject, to: Model.self))
    }
    // A generic function may know the model by a superclass: this is its own class.
    let type: any PersistentModel.Type = Swift.type(of: model)
    return make(type)
  }

  private func makeRow<Model: PersistentModel>(_ draft: AnyDraft, ofOwnClass model: Model) -> ModelRow {
    let row = newRow(of: Model.self)
    fill(row, draft)
    row.appear(in: model)
    return row
  }

  @inline(__always)
  func newRow<Model: PersistentModel>(of type: Model.Type) -> ModelRow {
    rows.insertNew(rows.knownRowClass(of: type) ?? findRowClass(of: type), nil)
  }

  @inline(never)
  private func findRowClass<Model: PersistentModel>(of type: Model.Type) -> ModelRow.Type {
    guard core.holds(type) else {
      stop(
        "\(type) is in no schema of the container: give it to ModelContainer(for:), which has \(core.schema.entities.map(\.name).sorted().joined(separator: ", "))"
      )
    }
    return rows.remember(RowBacking<Model>.self, of: type)
  }

  /// Gives a new row the attributes of a draft, and its identity.
  private func fill(_ row: ModelRow, _ draft: AnyDraft) {
    row._plan = rows.plan(of: row)
    row.withPlan { $0.write(draft, to: row) }
    row._number = draft.number
    row._hasOwnState = draft.isObserved
    if draft.number.value != 0 { temporaryRows.set(row) }
    draft.destination = nil
  }

  /// Gives a new row the relationships of a draft.
  private func relate(_ row: ModelRow, _ draft: AnyDraft) {
    for entry in draft.entries {
      switch entry.value {
      case .toOne(let object):
        guard let model = object as? any PersistentModel else { continue }
        let property = row.plan.property(entry, row)
        let end = self.row(for: model)
        row.write(end, slot: property.slot)
        row.accompany(end)
      case .toMany(let objects):
        guard let objects, !objects.isEmpty else { continue }
        let rows: [ModelRow] = objects.compactMap {
          ($0 as? any PersistentModel).map { self.row(for: $0) }
        }
        let property = row.plan.property(entry, row)
        // Others may have made themselves members before.
        let present = row.relatedObjects(slot: property.slot)
        row.write(present + (rows as [ManagedObject]), slot: property.slot)
        row.accompany(rows, property)
      default: continue
      }
    }
    draft.forget()
  }

  // MARK: Drafts that wait

  /// Remembers a draft that an initialiser has related to a model of this context.
  func expect(_ draft: AnyDraft) {
    expected.append(draft)
    noteChange()
  }

  /// Inserts the drafts that wait.
  @inline(__always)
  func settleExpected() { if !expected.isEmpty { settleAllExpected(but: nil) } }
  @inline(__always)
  func settleExpected(but model: AnyObject) { if !expected.isEmpty { settleAllExpected(but: model) } }

  private func settleAllExpected(but model: AnyObject?) {
    // Asking for the draft of an instance of a submodel moves what waits into it.
    let own = (model as? any PersistentModel)?.draft
    let waiting = expected
    expected = []
    for draft in waiting where draft.destination === self {
      if let owner = draft.owner as? any PersistentModel {
        if owner !== model { insert(owner) }
      } else if own === draft {
        continue
      } else if core.hasSubmodels(draft.modelType)
        || ModelDescriptor.of(draft.modelType).superdescriptor != nil
      {
        // Of which class the model is, and what its other part is, only the model tells.
        expected.append(draft)
      } else {
        // Nothing tells which instance the initialiser has made: the row waits for it.
        insertUnowned(draft)
      }
    }
  }

  /// Makes the row of a draft whose model has not shown itself. Its accessors find the row by the draft.
  private func insertUnowned(_ draft: AnyDraft) {
    func make<Model: PersistentModel>(_ type: Model.Type) -> ModelRow { newRow(of: type) }
    let row = make(draft.modelType)
    fill(row, draft)
    draft.successor = row
    relate(row, draft)
  }

  // MARK: Deleting

  /// Marks a model to be deleted by the next save; one that was never saved just leaves. Models of no context, and those that are deleted already, are left alone.
  public func delete<T>(_ model: T) where T: PersistentModel {
    enter()
    guard let row = model.modelRow else {
      if let draft = model.draft {
        draft.destination = nil
        expected.removeAll { $0 === draft }
      }
      return
    }
    guard row.modelContext === self, !row.isDeleted else { return }
    // One that was never saved leaves the context at once.
    if row.isInserted { ModelRow.keepRelationships(of: row.withCascades) } else { row.keepTargets() }
    rows.delete(row)
    noteChange()
  }

  // MARK: Looking up

  /// The model with the identifier: the one of this context, or one that is made for its row. Where the row is gone, or far away, it is read when the model is first asked for a value.
  ///
  /// Stops the process for an identifier of a store that the container does not have, and for a temporary one that belongs to no model of this context.
  public func model(for persistentModelID: PersistentIdentifier) -> any PersistentModel {
    enter()
    if let row = row(for: persistentModelID) {
      if row._plan == nil { row._plan = rows.plan(of: row) }
      return row.anyPersistentModel()
    }
    stop(
      """
      \(persistentModelID) is of no store of this context's container, or of a model that was never saved here. An identifier from before \
      a model's first save is temporary: take persistentModelID again after the save.
      """
    )
  }

  /// The model with the identifier, if this context has it in memory.
  public func registeredModel<T>(for persistentModelID: PersistentIdentifier) -> T? where T: PersistentModel {
    enter()
    let row: ModelRow?
    switch persistentModelID.id.form {
    case .temporary(let number, _): row = temporaryRows[number]
    case .row, .named, .foreign:
      row = objectID(of: persistentModelID).flatMap { rows.registeredObject(for: $0) as? ModelRow }
    }
    return row?.anyModel() as? T
  }

  /// The row with the identifier; nil when the container has no such store.
  func row(for identifier: PersistentIdentifier) -> ModelRow? {
    switch identifier.id.form {
    case .temporary(let number, _): temporaryRows[number]
    case .row, .named, .foreign: objectID(of: identifier).flatMap { rows.objectToRead(with: $0) as? ModelRow }
    }
  }

  /// The row with the identifier, if there is one. What cannot be read is reported to `managedObjectContext.readFailureHandler`.
  func existingRow(for identifier: PersistentIdentifier) -> ModelRow? {
    switch identifier.id.form {
    case .temporary(let number, _): temporaryRows[number]
    case .row, .named, .foreign: objectID(of: identifier).flatMap(existingRow)
    }
  }

  private func existingRow(_ id: ManagedObjectID) -> ModelRow? {
    do {
      return try rows.existingObject(with: id) as? ModelRow
    } catch let error as CoreDataError where error.code == .managedObjectReferentialIntegrity {
      // There is none.
      return nil
    } catch {
      rows.report(unread: error, [id])
      return nil
    }
  }

  /// The identifier as the container's stores know it.
  func objectID(of identifier: PersistentIdentifier) -> ManagedObjectID? {
    core.objectID(of: identifier)
  }
}
