extension ManagedObjectContext {
  /// What is not as it must be in the context's own state, in sentences; empty when everything is.
  ///
  /// Looks at every registered object, at the changes, and at what the context's children see. On the context's queue, between events.
  package func brokenInvariants() -> [String] {
    var broken = changes.brokenInvariants()
    let (listed, noted) = (changes.listedObjects, changes.notedObjects)
    stores.forEach { check($0, listed, noted, &broken) }
    for object in deletions.toPropagate where object.context === self && !object.isMarkedDeleted {
      broken.append("\(name(object)) waits for its delete rules and is not deleted")
    }
    broken += strata.brokenInvariants(isSaving: saving.holdsStrata)
    return broken
  }

  private func name(_ object: ManagedObject) -> String {
    "\(object.home.token.entityName) \(object.primaryKey)"
  }

  private func check(
    _ object: ManagedObject, _ listed: Set<ObjectIdentifier>, _ noted: Set<ObjectIdentifier>,
    _ broken: inout [String]
  ) {
    guard object.context === self else {
      broken.append("\(name(object)) is registered and belongs to another context, or to none")
      return
    }
    if stores.table(for: object.home)?.identity(of: object.primaryKey) != ObjectIdentifier(object) {
      broken.append("\(name(object)) is registered under another key")
    }
    let state = object.state
    let changed: ObjectState.Flags = [.inserted, .updated, .deleted]
    if !state.isDisjoint(with: changed), !listed.contains(ObjectIdentifier(object)) {
      broken.append("\(name(object)) has changes and is in no list of changed objects")
    }
    if state.isSuperset(of: [.inserted, .updated]) {
      broken.append("\(name(object)) is both new and edited")
    }
    if state.isSuperset(of: [.inserted, .deleted]) {
      broken.append("\(name(object)) is both new and deleted")
    }
    // A new object that was refreshed is a fault with the values it was made with.
    if state.isSuperset(of: [.inserted, .fault]), !object.hasDraft || object.snapshot != nil {
      broken.append("\(name(object)) is new and a fault without values of its own")
    }
    if !state.isDisjoint(with: .noted), !noted.contains(ObjectIdentifier(object)) {
      broken.append("\(name(object)) is noted for a notification and not in its list")
    }
    if saving.flight == nil, !state.isDisjoint(with: [.inFlight, .flyingDelete]) {
      broken.append("\(name(object)) belongs to a save, and none is under way")
    }
    if state.contains(.leaving), deletions.hooks == 0 {
      broken.append("\(name(object)) is being deleted, and no deletion runs")
    }
  }

  /// In debug builds, after a save: that the state is what it must be. Of contexts with many objects only the changes, or every save would
  /// take as long as all of its context.
  @inline(__always)
  func assertInvariants() {
    #if DEBUG
      let broken = stores.count > Self.mostChecked ? changes.brokenInvariants() : brokenInvariants()
      if !broken.isEmpty {
        trap("the state of \(self) is broken: \(broken.prefix(5).joined(separator: "; ")).")
      }
    #endif
  }

  private static var mostChecked: Int { 500 }
}
