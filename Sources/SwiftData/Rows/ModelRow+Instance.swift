import StrataCore
import Synchronization

// A row knows its instance without keeping it, which the context does while that is needed: see `HeldInstances`. A weak reference does that, but forming one allocates, and slows the counting of references to the instance for
// good. Most rows are never asked for their instance a second time. So a row begins with the address of its instance, and forms the weak reference when it is asked.
//
//     made for the row ──▶ address ──asked for, or `_RowReference` of the instance ends──▶ weak reference
//
// The address is safe to follow, though any thread may release the instance:
//
// - Only an instance whose own `_RowReference` holds the row is known by its address. One at a time holds it; others are known weakly from the beginning.
// - An instance that ends destroys its `_RowReference` before its memory goes. That takes the turn, and takes the address away.
// - Whoever follows the address does so within a turn, too. So the memory is there, and what is done with it is over before the turn ends: a weak reference is formed,
//   which leads nowhere when the instance is ending.
//
// `_wasHeld` and `_lastHold` belong to whoever uses the context. The others are read and written within a turn, or where no other thread can know of them.
extension ModelRow {
  /// The instance, as long as it lives.
  final var knownModel: AnyObject? { _wasHeld ? lookedUp() : nil }

  @inline(never)
  private final func lookedUp() -> AnyObject? {
    var found: AnyObject?
    _turn.take { found = instance() }
    return found
  }

  /// Within a turn: the instance, which is known weakly from now on.
  ///
  /// When it lives, the answer must be kept until the turn is over: the last one to release an instance ends it, and that takes the turn.
  // Not inlined: the reference to an instance that is ending goes before this returns.
  @inline(never)
  private final func instance() -> AnyObject? {
    guard let address = _address else { return _reference }
    _address = nil
    // Kept until the weak reference has been read: else this could be the last one to release it, within the turn.
    let kept = address.takeUnretainedValue()
    _reference = kept
    return withExtendedLifetime(kept) { _reference }
  }

  /// The row's instance is `model`, whose `_RowReference` was made last.
  @inline(__always)
  final func know(_ model: AnyObject) {
    if _lastHold {
      // Nobody else can end what holds the row: it belongs to the instance, which the caller has.
      _lastHold = false
      _address = .passUnretained(model)
    } else {
      knowWeakly(model)
    }
    if isUnsaved { keepUnsaved(model) }
  }

  /// The row's instance is `model`, which may hold the row or not.
  @inline(never)
  final func knowWeakly(_ model: AnyObject) {
    _wasHeld = true
    _turn.take {
      _address = nil
      _reference = model
    }
  }

  /// The instance of the row shows another one from now on. Should undo bring the row back, it is a model of its own.
  final func forgetModel() {
    _turn.take {
      _address = nil
      _reference = nil
    }
    (_isPinned, _isCompanion) = (false, false)
    forgetNumber()
  }

  /// The instance gets this row as its backing data, and the row knows it unless it knows another one.
  final func appear<Model: PersistentModel>(in model: Model, as backing: any BackingData<Model>) {
    // Asked before the model holds the row: a new row knows of nobody, and that is seen without a turn.
    let known = knownModel
    _lastHold = false
    model.persistentBackingData = backing
    if known == nil { know(model) }
    _lastHold = false
  }

  /// A `_RowReference` of an instance is being made. Whether it holds the row: then it calls `endHold()` when it ends.
  @inline(__always)
  final func hold() -> Bool {
    if _wasHeld {
      _lastHold = holdAgain()
    } else {
      (_wasHeld, _isHeld, _lastHold) = (true, true, true)
      _group?.enter()
    }
    return _lastHold
  }

  @inline(never)
  private final func holdAgain() -> Bool {
    var isFree = false
    _turn.take {
      isFree = !_isHeld
      _isHeld = true
      if isFree { _group?.enter() }
    }
    return isFree
  }

  /// The `_RowReference` that holds the row ends: with its instance, on any thread, or since the instance got other backing data, and then the row goes on knowing it.
  final func endHold() {
    var found: AnyObject?
    var group: KeptRows?
    _turn.take {
      found = instance()
      _isHeld = false
      group = _group
    }
    withExtendedLifetime(found) {}
    group?.leave()
  }
}

/// The turns of those who follow the address of a row's instance, or take it away. As StrataCore's mutex, which would not be compiled into the code that uses it here.
struct InstanceTurn: ~Copyable {
  private let base = Synchronization.Mutex<Void>(())
  private let order = Atomic<Bool>(false)

  /// Calls `body` while nobody else has the turn. Not re-entrant.
  @inline(__always)
  borrowing func take(_ body: () -> Void) {
    base.withLock { _ in
      _ = order.load(ordering: .acquiring)
      body()
      order.store(false, ordering: .releasing)
    }
  }
}
