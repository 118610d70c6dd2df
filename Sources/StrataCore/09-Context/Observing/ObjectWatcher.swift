/// Is told of every change of one object, on its context's queue, where an observer of the Observation framework is told of the next one only.
///
/// What key-value observation tells on Apple's systems is told by it: see the module CoreDataCombine.
package protocol ObjectWatcher: AnyObject {
  /// A setter is about to change a property, to another value or the one that it has; or, `isShown`, an event has changed it in any other way, and
  /// the object shows that already.
  func objectWillChange(_ object: ManagedObject, slot: Int, isShown: Bool)
  /// The property was changed. Of a to-many relationship, and of what changed because the other end was set: at the end of the event.
  func objectDidChange(_ object: ManagedObject, slot: Int)
}

/// Who watches an object, and what they have been told.
struct WatchedProperties {
  private struct Watcher {
    weak var object: (any ObjectWatcher)?
  }

  private var watchers: [Watcher] = []
  /// What the properties were when the watchers were told last.
  var told: [Int: ObjectObservation.Seen] = [:]
  /// Those that a setter is changing.
  var changing: Set<Int> = []
  /// Lives as long as the object.
  var companion: (any ObjectWatcher)?

  var isEmpty: Bool { watchers.isEmpty }

  mutating func add(_ watcher: any ObjectWatcher) {
    watchers.removeAll { $0.object == nil || $0.object === watcher }
    watchers.append(Watcher(object: watcher))
  }

  mutating func remove(_ watcher: any ObjectWatcher) {
    watchers.removeAll { $0.object == nil || $0.object === watcher }
  }

  /// Those who are there to be told.
  mutating func listeners() -> [any ObjectWatcher] {
    let present = watchers.compactMap(\.object)
    if present.count < watchers.count { watchers.removeAll { $0.object == nil } }
    return present
  }
}

/// What is read of an object while something runs.
final class ReadRecording {
  let object: ManagedObject
  var slots: Set<Int> = []
  /// All objects that were read, so that they can be read fast again afterwards.
  var objects: [ManagedObject] = []

  init(_ object: ManagedObject) { self.object = object }
}

extension ManagedObject {
  /// Tells `watcher`, which is not kept alive, of every change from now on. Fires a fault: what is watched are the values.
  ///
  /// An object that nobody watches pays nothing for it.
  package final func addWatcher(_ watcher: any ObjectWatcher) {
    checkConfinementHere()
    fire()
    let observation = ensureObservation()
    let isFirst = observation.watched.isEmpty
    observation.watched.add(watcher)
    context?.observation.hasWatchedObjects = true
    if isFirst {
      observation.watched.told = [:]
      for slot in home.entity.attributes.indices { observation.watched.told[slot] = seen(slot) }
    }
    state.beginObserved()
  }

  package final func removeWatcher(_ watcher: any ObjectWatcher) {
    observation?.watched.remove(watcher)
    settleObserved()
  }

  /// A watcher that lives as long as the object: the one that was made before, or a new one. Nil when another one was made.
  package final func companion<Watcher: ObjectWatcher>(_ make: () -> Watcher) -> Watcher? {
    if let companion = observation?.watched.companion { return companion as? Watcher }
    let watcher = make()
    addWatcher(watcher)
    observation?.watched.companion = watcher
    return watcher
  }

  /// Runs `body` and says which properties of this object it has read, by slot. None of an object in no context.
  package final func recordingReads<Result>(_ body: () throws -> Result) rethrows -> (Result, Set<Int>) {
    checkConfinementHere()
    guard let context else { return (try body(), []) }
    let outer = context.observation.recording
    let recording = ReadRecording(self)
    context.observation.recording = recording
    fastRow = nil
    defer {
      context.observation.recording = outer
      settleFastRow()
      for object in recording.objects { object.settleFastRow() }
    }
    return (try body(), recording.slots)
  }

  /// The object has come into a context, or has left it.
  final func observedContextDidChange() {
    tellObserved()
    context?.observation.noteObservedObject()
    if observation?.watched.isEmpty == false { context?.observation.hasWatchedObjects = true }
  }

  /// A setter is about to change `slot`.
  final func tellWatchersOfSetting(_ slot: Int) {
    guard let observation, !observation.watched.isEmpty, observation.watched.changing.insert(slot).inserted
    else { return }
    for watcher in observation.watched.listeners() {
      watcher.objectWillChange(self, slot: slot, isShown: false)
    }
  }

  /// A setter has changed `slot`.
  @inline(__always)
  final func observedDidChange(_ slot: Int) {
    if state.contains(.observed) { tellWatchersOfChange(slot) }
  }

  @inline(never)
  private final func tellWatchersOfChange(_ slot: Int) {
    guard let observation, observation.watched.changing.remove(slot) != nil else { return }
    observation.watched.told[slot] = seen(slot)
    for watcher in observation.watched.listeners() { watcher.objectDidChange(self, slot: slot) }
  }

  /// The slots that watchers know other values of. What a setter had begun to change is done with.
  final func watchedChanges(isAnyMember: Bool) -> [Int] {
    guard let observation, !observation.watched.isEmpty else { return [] }
    let changed = observation.watched.told.filter {
      hasChanged($0.key, since: $0.value, isAnyMember && isToMany($0.key))
    }
    return changed.keys.sorted()
  }

  private final func isToMany(_ slot: Int) -> Bool { home.entity.relationship(slot: slot)?.isToMany == true }

  final func tellWatchers(_ slots: [Int]) {
    guard let observation else { return }
    for slot in slots {
      let isTold = observation.watched.changing.remove(slot) != nil
      observation.watched.told[slot] = seen(slot)
      for watcher in observation.watched.listeners() {
        if !isTold { watcher.objectWillChange(self, slot: slot, isShown: true) }
        watcher.objectDidChange(self, slot: slot)
      }
    }
    observation.watched.changing = []
  }
}
