#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Bionic)
  import Bionic
#endif

/// An address for each thread; nil on threads that have set none. Stays for good.
struct ThreadKey: Sendable {
  private let key: pthread_key_t

  // The systems' declarations differ in whether the address may be nil, which it never is.
  #if canImport(Bionic)
    typealias End = @convention(c) (UnsafeMutableRawPointer) -> Void
  #else
    typealias End = @convention(c) (UnsafeMutableRawPointer?) -> Void
  #endif

  /// - Parameter end: is given the address of a thread that ends, unless that is nil.
  init(end: End? = nil) {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key, end)
    if failure != 0 { stop("the process has no thread-local storage left (error \(failure))") }
    self.key = key
  }

  @inline(__always)
  var value: UnsafeMutableRawPointer? {
    get { pthread_getspecific(key) }
    nonmutating set { pthread_setspecific(key, newValue) }
  }
}

/// One reference for each thread: what takes the initial values of the instance that is being made there.
///
/// Whoever sets it keeps the object alive until it is set back.
enum ModelSinks {
  private static let key = ThreadKey()

  // Unmanaged: so that asking counts no references.
  @inline(__always)
  static var current: Unmanaged<AnyObject>? {
    // Unsafe: only `current` sets it, to an object that is kept.
    get { key.value.map { Unmanaged<AnyObject>.fromOpaque($0) } }
    set { key.value = newValue?.toOpaque() }
  }
}
