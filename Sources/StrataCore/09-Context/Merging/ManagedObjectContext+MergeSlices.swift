import Dispatch

/// Commits that are being merged automatically, in commit order, and how far that has come.
struct MergeBacklog {
  var notices: [CommitNotice] = []
  /// The place in the first of them.
  var place = 0
  var merged = MergedIdentifiers()

  var isEmpty: Bool { notices.isEmpty }

  mutating func takeMerged() -> MergedIdentifiers {
    defer { merged = MergedIdentifiers() }
    return merged
  }
}

extension ManagedObjectContext {
  /// Merges a commit behind those that wait. On the main queue in slices, so that a hundred thousand changes never hold it for
  /// long: each slice posts a did-change notification of its own, the last one the did-merge notification.
  func mergeBySlices(_ notice: CommitNotice) {
    // A batch moves no pinned generation, and what is pinned does not show it (rules 184, 276).
    if notice.batch != nil, generation.isSet { return }
    let isUnderWay = !mergeBacklog.isEmpty
    mergeBacklog.notices.append(notice)
    // What wrote nothing moves none, either.
    if parent == nil, notice.hasWritten { generation.advance() }
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
    while let slice = tellingAfterwards({ mergeSlice() }) {
      tell(slice)
      if let end, !mergeBacklog.isEmpty, DispatchTime.now().uptimeNanoseconds >= end {
        tellChanges()
        return false
      }
    }
    return true
  }

  /// A part of a commit that is merged and not told of yet.
  private struct MergedSlice {
    let notice: CommitNotice
    let places: Range<Int>
    /// What is to be reported now: of a batch each slice, of any other commit all of it with the last one.
    let merged: MergedIdentifiers
    let isLast: Bool
  }

  /// Merges the next part of what waits; nil when nothing does. The backlog shows what follows before anybody is told: observers may save, which merges
  /// the rest.
  private func mergeSlice() -> MergedSlice? {
    guard var notice = mergeBacklog.notices.first else { return nil }
    let start = mergeBacklog.place
    if notice.isForeign, start == 0, suspectHeldObjects(&notice) { mergeBacklog.notices[0] = notice }
    let count = notice.count
    // A commit of no rows may change relationships.
    let places = start..<min(start + (notice.batch == nil ? Self.sliceStep : Self.batchStep), count)
    if let batch = notice.batch {
      merge(batch, notice, places, &mergeBacklog.merged)
    } else {
      merge(notice, places, &mergeBacklog.merged)
    }
    mergeBacklog.place = places.upperBound
    let isLast = places.upperBound >= count
    let merged = notice.batch != nil || isLast ? mergeBacklog.takeMerged() : MergedIdentifiers()
    if isLast {
      mergeBacklog.place = 0
      mergeBacklog.notices.removeFirst()
    }
    return MergedSlice(notice: notice, places: places, merged: merged, isLast: isLast)
  }

  private func tell(_ slice: MergedSlice) {
    if slice.isLast { Garbage.release(slice.notice, count: slice.notice.count) }
    guard let batch = slice.notice.batch else {
      if slice.isLast { finishMerge(slice.merged) }
      return
    }
    tellSlice(of: batch, slice.notice, slice.places, slice.merged)
    if slice.isLast, !batch.uncertain.isEmpty {
      // Rows that are no objects here may be new, other ones, or gone.
      if observation.isObserved { observation.pending.isAllRefreshed = true }
      finishMerge(MergedIdentifiers())
    }
  }
}
