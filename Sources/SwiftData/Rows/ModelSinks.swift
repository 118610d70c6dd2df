#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Bionic)
  import Bionic
#endif

/// One reference for each thread: what takes the initial values of the instance that is being made there.
///
/// Whoever sets it keeps the object alive until it is set back.
enum ModelSinks {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let failure = pthread_key_create(&key, nil)
    if failure != 0 { stop("the process has no thread-local storage left (error \(failure))") }
    return key
  }()

  // Unmanaged: so that asking counts no references.
  @inline(__always)
  static var current: Unmanaged<AnyObject>? {
    // Unsafe: only `current` sets it, to an object that is kept.
    get { pthread_getspecific(key).map { Unmanaged<AnyObject>.fromOpaque($0) } }
    set { pthread_setspecific(key, newValue.map { UnsafeRawPointer($0.toOpaque()) }) }
  }
}
