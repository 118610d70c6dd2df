import Foundation

extension ManagedObjectContext {
  /// There is a context above this one. Called on any thread.
  func becomeParent() {
    strata.startPublishing()
    if isAtHand { tellChanges() }
  }

  /// A block is over: what it has edited is there for children, although it is not reported (rule 4).
  func flushEdits() {
    let unflushed = changes.takeUnflushed()
    if unpublished.objects.isEmpty {
      unpublished.objects = unflushed
    } else {
      unpublished.objects += unflushed
    }
    publishEdits()
  }

  /// Makes what has been edited visible to children; in a context without children keeps it for the first one. Cheap when nothing was.
  func publishEdits() {
    guard !unpublished.isEmpty else { return }
    // A save that blocks this queue has frozen what it saves: what its hooks and policies change is part of it, and what is
    // published above it would outlive it.
    if saving.blocksWhileFrozen { return }
    if !strata.publishes {
      if saving.isAboutToWrite || captureEdits() { return }
      // The first child has come in between.
    }
    let edits = unpublished.take()
    let gone = edits.withdrawn.map { ($0.table, $0.primaryKey, StratumRow?.none) }
    var unread: [ManagedObject] = []
    repeat {
      // A child may have saved in between: its changes are part of the objects first.
      drainReceived()
      unread = []
    } while !strata.publish(gone + edits.objects.compactMap { publication(of: $0, &unread) })
    // Published when their rows can be read.
    unpublished.objects += unread
  }

  /// What children should see of `object`; nil, and noted, when the row beneath its edits cannot be read.
  private func publication(of object: ManagedObject, _ unread: inout [ManagedObject])
    -> (StratumLayer.Table, UInt64, StratumRow?)?
  {
    let home = object.home
    let table = StratumLayer.Table(storeIndex: home.storeIndex, hierarchy: home.hierarchyNumber)
    var row: StratumRow?
    if object.context === self {
      // What children have saved is published already, or on its way down: above that it would be saved once more.
      if !object.state.isDisjoint(with: .received) { return nil }
      do {
        row = try object.stratumRow()
      } catch is RowError {
        // What cannot be encoded is not published: the save will say why.
      } catch {
        unread.append(object)
        return nil
      }
    }
    return (table, object.primaryKey, row)
  }

  // MARK: Without children

  /// Keeps what has been edited for the first child. False, and all is as before, when there is one.
  private func captureEdits() -> Bool {
    var records = ContiguousArray<CapturedRecord>()
    let objects = unpublished.objects
    records.reserveCapacity(objects.count + unpublished.withdrawn.count)
    for place in unpublished.withdrawn { records.append(CapturedRecord(nothingAt: place)) }
    var unread: [ManagedObject] = []
    let takesBack = strata.capturesEdits
    let own = Unmanaged.passUnretained(self).toOpaque()
    var place = 0
    objects.withUnsafeBufferPointer { objects in
      ManagedObject.forEach(objects[...]) { object in
        // A reference to its draft is counted, which means looking at it.
        if place + 6 < objects.count {
          Unmanaged.passUnretained(objects[place + 6])._withUnsafeGuaranteedRef { $0.prefetchDraftHead() }
        }
        place += 1
        let isHere = object.contextReference?.toOpaque() == own
        if !isHere, object.contextReference != nil { return }
        do {
          if isHere, let record = try object.captured() {
            if record.draft != nil { object.state.shareDraft() }
            records.append(record)
          } else if takesBack {
            // What an object points to that has left is held by the object, and not by the context.
            records.append(
              isHere
                ? CapturedRecord(nil, object.boundReference, object.primaryKey)
                : CapturedRecord(nothingAt: object.place))
          }
        } catch {
          // Captured when its row can be read.
          unread.append(object)
        }
      }
    }
    guard strata.capture(records, pending: pendingCount) else { return false }
    unpublished.objects =
      unpublished.objects.count == objects.count
      ? unread : unread + unpublished.objects.dropFirst(objects.count)
    unpublished.withdrawn = []
    return true
  }

  var pendingCount: Int { changes.insertedCount + changes.updatedCount + changes.deletedCount }

  /// What is pending is not what was captured of it any more, because a save that was under way has ended.
  func captureAnew() {
    if strata.publishes { return }
    unpublished.objects += changes.inserted + changes.updated + changes.deleted
    publishEdits()
  }
}
