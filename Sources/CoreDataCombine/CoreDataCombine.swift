// What `import Combine` brings along on Apple's systems: `NotificationCenter.publisher(for:object:)`, and the schedulers `DispatchQueue`, `RunLoop` and
// `OperationQueue` among it.
@_exported import CoreData
@_exported import OpenCombine
@_exported import OpenCombineDispatch
@_exported import OpenCombineFoundation
