import Dispatch

/// Commits that are being merged automatically, in commit order, and how far that has come.
struct MergeBacklog {
  var notices: [CommitNotice] = []
  /// The place in the first of them.
  var place = 0
  var merged = MergedIdentifiers()

  var isEmpty: Bool { notices.isEmpty }
}

extension ManagedObjectContext {
  /// Merges a commit behind those that wait. On the main queue in slices, so that a hundred thousand changes never hold it for
  /// long: each slice posts a did-change notification of its own, the last one the did-merge notification.
  func mergeBySlices(_ notice: CommitNotice) {
    // A batch moves no pinned generation, and what is pinned does not show it (rules 184, 276).
    if notice.batch != nil, generation.isSet { return }
    let isUnderWay = !mergeBacklog.isEmpty
    mergeBacklog.notices.append(notice)
    if parent == nil { generation.advance() }
    // A slice that is on its way comes to it.
    if !isUnderWay { mergeNextSlice() }
  }

  private func mergeNextSlice() {
    let end = queue.type == .mainQueue ? DispatchTime.now().uptimeNanoseconds + Self.sliceLength : nil
    guard !mergeUntil(end) else { return }
    DispatchQueue.main.async { [weak self] in
      guard let self else { return }
      ThreadScope.current.run(in: self) { self.mergeNextSlice() }
    }
  }

  /// Merges what waits, at once.
  func finishMergeBacklog() {
    if !mergeBacklog.isEmpty { _ = mergeUntil(nil) }
  }

  /// True when nothing waits any more.
  private func mergeUntil(_ end: UInt64?) -> Bool {
    tellChanges()
    while var notice = mergeBacklog.notices.first {
      if notice.isForeign, mergeBacklog.place == 0, suspectHeldObjects(&notice) {
        mergeBacklog.notices[0] = notice
      }
      let count = notice.count
      // A commit of no rows may change relationships.
      repeat {
        let next = min(mergeBacklog.place + (notice.batch == nil ? Self.sliceStep : Self.batchStep), count)
        if let batch = notice.batch {
          mergeSlice(of: batch, notice, mergeBacklog.place..<next)
        } else {
          let places = mergeBacklog.place..<next
          tellingAfterwards { merge(notice, places, &mergeBacklog.merged) }
        }
        mergeBacklog.place = next
        if let end, next < count, DispatchTime.now().uptimeNanoseconds >= end {
          tellChanges()
          return false
        }
      } while mergeBacklog.place < count
      let merged = mergeBacklog.merged
      mergeBacklog.merged = MergedIdentifiers()
      mergeBacklog.place = 0
      // Observers may merge more.
      mergeBacklog.notices.removeFirst()
      Garbage.release(notice, count: count)
      if notice.batch == nil {
        finishMerge(merged)
      } else if notice.batch?.uncertain.isEmpty == false {
        // Rows that are no objects here may be new, other ones, or gone.
        if observation.isObserved { observation.pending.isAllRefreshed = true }
        finishMerge(merged)
      }
      if let end, !mergeBacklog.isEmpty, DispatchTime.now().uptimeNanoseconds >= end { return false }
    }
    return true
  }
}
