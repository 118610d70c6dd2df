import StrataCore

extension ModelContext {
  /// Posted by `save()` before it writes, on the thread that saves; its object is the context. New models have temporary identifiers.
  /// What observers change is saved as well; a save of theirs in the same context throws 132001.
  public static let willSave = Notification.Name("SwiftData.ModelContext.willSave")
  /// Posted by `save()` when it has written, on the thread that saves; its object is the context, its user info has the identifiers that ``NotificationKey`` names.
  /// They are there by the names of its cases as well: `userInfo["inserted"]` and `userInfo["insertedIdentifiers"]` are the same array.
  public static let didSave = Notification.Name("SwiftData.ModelContext.didSave")

  /// Keys of the user info of ``didSave``: their raw values.
  public enum NotificationKey: String {
    /// The query generation that the context reads. Only where one is set.
    case queryGeneration
    /// `true` when models may have changed that the other keys do not name. Not posted by saves.
    case invalidatedAllIdentifiers
    /// The identifiers of new models, as an array.
    case insertedIdentifiers = "inserted"
    /// The identifiers of changed models, as an array, with those of rows that new models with the same unique values have become.
    case updatedIdentifiers = "updated"
    /// The identifiers of deleted models, as an array, with those of rows that have made way for a changed model with the same unique values.
    case deletedIdentifiers = "deleted"
  }

  /// Writes everything that is new, changed or deleted, all or nothing in each store. Without changes nothing is done and nothing posted.
  ///
  /// New models get their final identifiers. A new model with the unique values of another row becomes that row, with the new model's values.
  ///
  /// - Throws: `CocoaError` with Core Data's code: 1570 for a missing value, 1580 and 1590 for too few or too many models of a relationship, 1600 for a deletion that a rule denies,
  ///   for a store that may not or cannot be written, 132001 inside of a save of the same context. The changes stay unsaved then.
  public func save() throws {
    enter()
    guard hasChanges else { return }
    var saved: SavedObjects
    let outer = deletedByInnerSaves
    deletedByInnerSaves = []
    defer { deletedByInnerSaves = outer.map { $0.union(deletedByInnerSaves ?? []) } }
    do {
      saved = try rows.saveListing {
        PostingTurn.shared.withTurn { NotificationCenter.default.post(name: Self.willSave, object: self) }
        self.settleExpected()
        self.rows.processPendingChanges()
        for object in self.rows.unsavedDeletions { (object as? ModelRow)?.keepTargets() }
      }
    } catch {
      throw FoundationErrors.error(for: error)
    }
    if let deleted = deletedByInnerSaves, !deleted.isEmpty {
      saved.inserted.removeAll(where: deleted.contains)
    }
    if outer != nil { deletedByInnerSaves?.formUnion(saved.deleted) }
    let new = saved.inserted.map { PersistentIdentifier($0) }
    var changed = takeIdentifiers(of: &saved.updated)
    if !saved.merged.isEmpty {
      // A row that a new model has become may have had the same values: the save has not written it then.
      var known = Set(new).union(changed)
      changed += takeIdentifiers(of: &saved.merged).filter { known.insert($0).inserted }
    }
    temporaryRows.removeSaved()
    let deleted = saved.deleted.map { PersistentIdentifier($0) }
    PostingTurn.shared.withTurn {
      NotificationCenter.default.post(
        name: Self.didSave, object: self,
        userInfo: [
          NotificationKey.insertedIdentifiers.rawValue: new, "insertedIdentifiers": new,
          NotificationKey.updatedIdentifiers.rawValue: changed, "updatedIdentifiers": changed,
          NotificationKey.deletedIdentifiers.rawValue: deleted, "deletedIdentifiers": deleted,
        ])
    }
    rows.letGoSettled()
  }

  /// The final identifiers of what was saved and is in the context still.
  ///
  /// Each object is looked at once, and leaves the array: of many, that takes longer than what is done with it.
  private func takeIdentifiers(of objects: inout [ManagedObject]) -> [PersistentIdentifier] {
    var found: [PersistentIdentifier] = []
    found.reserveCapacity(objects.count)
    while let object = objects.popLast() {
      guard object.isInContext else { continue }
      let id = object.objectID
      if id.isTemporaryID { continue }
      found.append(PersistentIdentifier(id))
    }
    found.reverse()
    return found
  }

  /// Deletes the models of a class that match, in the stores and at once, with their delete rules; contexts show it from their next use on.
  ///
  /// What is unsaved is not looked at: the predicate sees what is stored. Edits of models that go are lost with them, here and in other contexts, as if another context had
  /// deleted the models and saved.
  /// - Throws: ``SwiftDataError/unsupportedPredicate``; `CocoaError` 1600 for a deletion that a rule denies, and for a relationship that would miss what it must have.
  public func delete<T>(
    model: T.Type, where predicate: Predicate<T>? = nil, includeSubclasses: Bool = true
  ) throws where T: PersistentModel {
    enter()
    if core.ownStores.contains(where: { $0.holds(ModelDescriptor.of(T.self).entityName) }) {
      return try OwnDeletions(container, author: author).delete(
        model, predicate, includeSubclasses: includeSubclasses)
    }
    func run(_ fetch: FetchRequest<ManagedObject>) throws {
      var request = fetch
      request.includesSubentities = includeSubclasses
      try rows.execute(BatchDeleteRequest(fetchRequest: request))
    }
    try translating {
      let descriptor = FetchDescriptor<T>(predicate: predicate)
      do { try run(LoweredFetch(descriptor, self).request) } catch  where Self.isForModels(error) {
        let found = try storedRows(descriptor)
        if found.isEmpty { return }
        var request = FetchRequest<ManagedObject>(entityName: ModelDescriptor.of(T.self).entityName)
        request.predicate = .compare(FetchComparison(.evaluatedObject, .in, .objects(found)))
        try run(request)
      }
    }
  }
}
